package io.howdah.conformance;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import javax.xml.stream.XMLOutputFactory;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamWriter;

/** Writes one class's result in the format that build servers read. */
final class JUnitXml {
  private JUnitXml() {
  }

  static void write(ClassResult result, Path file) throws IOException {
    try (OutputStream stream = Files.newOutputStream(file)) {
      XMLStreamWriter xml = XMLOutputFactory.newInstance().createXMLStreamWriter(stream, "UTF-8");
      xml.writeStartDocument("UTF-8", "1.0");
      xml.writeCharacters("\n");
      xml.writeStartElement("testsuite");
      xml.writeAttribute("name", result.entry.name);
      xml.writeAttribute("tests", String.valueOf(result.outcomes.size()));
      xml.writeAttribute("failures", String.valueOf(result.count(Outcome.Kind.FAILED)));
      xml.writeAttribute("errors", "0");
      xml.writeAttribute("skipped", String.valueOf(result.skipped()));
      xml.writeAttribute("time", String.format("%.3f", result.seconds));
      for (Outcome outcome : result.outcomes.values()) {
        write(result.entry, outcome, xml);
      }
      xml.writeCharacters("\n");
      xml.writeEndElement();
      xml.writeEndDocument();
      xml.close();
    } catch (XMLStreamException e) {
      throw new IOException("the report " + file + " can't be written", e);
    }
  }

  private static void write(ClassList.Entry entry, Outcome outcome, XMLStreamWriter xml) throws XMLStreamException {
    xml.writeCharacters("\n  ");
    xml.writeStartElement("testcase");
    xml.writeAttribute("classname", entry.name);
    xml.writeAttribute("name", printable(outcome.test));
    xml.writeAttribute("time", String.format("%.3f", outcome.seconds));
    switch (outcome.kind) {
      case FAILED:
        xml.writeStartElement("failure");
        xml.writeAttribute("message", printable(outcome.message));
        xml.writeCharacters(printable(outcome.trace));
        xml.writeEndElement();
        break;
      case KNOWN:
        xml.writeEmptyElement("skipped");
        ClassList.Known known = entry.known.get(outcome.test);
        xml.writeAttribute("message", printable("known: " + known.reason + "; stock: " + known.stock));
        break;
      case SKIPPED:
        xml.writeEmptyElement("skipped");
        xml.writeAttribute("message", printable(outcome.message));
        break;
      case FLAKY:
        xml.writeStartElement("flakyFailure");
        xml.writeAttribute("message", printable(outcome.message));
        xml.writeCharacters(printable(outcome.trace));
        xml.writeEndElement();
        break;
      default:
        break;
    }
    xml.writeEndElement();
  }

  /** XML 1.0 has no way to write most control characters. */
  private static String printable(String text) {
    return text.replaceAll("[^\\t\\n\\r\\u0020-\\uD7FF\\uE000-\\uFFFD]", "?");
  }
}
