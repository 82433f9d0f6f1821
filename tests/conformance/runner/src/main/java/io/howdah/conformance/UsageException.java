package io.howdah.conformance;

/** What the user asked for, or wrote in a list, makes no sense; the message says what and where. */
final class UsageException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  UsageException(String message) {
    super(message);
  }
}
