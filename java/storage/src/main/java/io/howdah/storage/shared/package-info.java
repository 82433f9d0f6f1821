/** The path that all DataNodes have: whose copies are where on it, and who serves them. */
package io.howdah.storage.shared;
