/** Commands that ask a cluster in a storage mode: howdah blocks, howdah storage. */
package io.howdah.storage.command;
