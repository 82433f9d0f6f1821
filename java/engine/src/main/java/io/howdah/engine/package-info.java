/**
 * The engine for Java: libhowdah's links, streams and fetches as channels, streams and buffers.
 *
 * <p>A program meets the parts in this order: {@link io.howdah.engine.EngineConf}, {@link io.howdah.engine.Engine},
 * {@link io.howdah.engine.Greeting} and {@link io.howdah.engine.Link}, {@link io.howdah.engine.EngineStream},
 * {@link io.howdah.engine.EventQueue}, {@link io.howdah.engine.Fetch}. docs/design/java-engine.md says how promises are
 * kept. Timeouts are in milliseconds; 0 waits for ever unless a method says otherwise.
 */
package io.howdah.engine;
