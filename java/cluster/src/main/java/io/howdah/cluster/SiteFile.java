package io.howdah.cluster;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import javax.xml.parsers.DocumentBuilder;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;
import org.xml.sax.ErrorHandler;
import org.xml.sax.SAXException;
import org.xml.sax.SAXParseException;

/** A site file of Hadoop's: names and values in XML. */
final class SiteFile {
  private SiteFile() {
  }

  /** Writes the properties, in their order. */
  static void write(Path file, Map<String, String> properties) throws IOException {
    StringBuilder xml = new StringBuilder("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        + "<!-- Written by `howdah cluster start`, anew each time: change it with -D name=value or with conf. -->\n"
        + "<configuration>\n");
    properties.forEach((name, value) -> xml.append("  <property><name>").append(escape(name))
        .append("</name><value>").append(escape(value)).append("</value></property>\n"));
    Files.write(file, xml.append("</configuration>\n").toString().getBytes(StandardCharsets.UTF_8));
  }

  private static String escape(String text) {
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;");
  }

  /**
   * Reads a site file of the user's.
   *
   * @throws ClusterException naming file, line and cause if it is not well-formed or not a site file
   */
  static Map<String, String> read(Path file) {
    Element root;
    try {
      root = parser().parse(file.toFile()).getDocumentElement();
    } catch (SAXParseException e) {
      throw malformed(file, "line " + e.getLineNumber() + ": " + e.getMessage());
    } catch (SAXException | IOException e) {
      throw malformed(file, e.getMessage());
    }
    if (!"configuration".equals(root.getTagName())) {
      throw malformed(file, "it begins with <" + root.getTagName() + ">, not <configuration>");
    }
    Map<String, String> properties = new LinkedHashMap<>();
    NodeList entries = root.getElementsByTagName("property");
    for (int i = 0; i < entries.getLength(); i++) {
      Element entry = (Element) entries.item(i);
      String name = text(entry, "name");
      String value = text(entry, "value");
      if (name == null || name.trim().isEmpty()) {
        throw malformed(file, "property " + (i + 1) + " has no <name>");
      }
      if (value == null) {
        throw malformed(file, "property " + name.trim() + " has no <value>");
      }
      properties.put(name.trim(), value);
    }
    return properties;
  }

  private static ClusterException malformed(Path file, String why) {
    return new ClusterException("the site file " + file + " can't be used: " + why, "correct it and start again");
  }

  private static String text(Element entry, String tag) {
    NodeList found = entry.getElementsByTagName(tag);
    return found.getLength() == 0 ? null : found.item(0).getTextContent();
  }

  private static DocumentBuilder parser() {
    try {
      DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
      factory.setFeature("http://apache.org/xml/features/disallow-doctype-decl", true);
      DocumentBuilder builder = factory.newDocumentBuilder();
      builder.setErrorHandler(new Strict());
      return builder;
    } catch (ParserConfigurationException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Throws instead of printing. */
  private static final class Strict implements ErrorHandler {
    @Override
    public void warning(SAXParseException e) {
      // A warning is no reason to refuse the file.
    }

    @Override
    public void error(SAXParseException e) throws SAXException {
      throw e;
    }

    @Override
    public void fatalError(SAXParseException e) throws SAXException {
      throw e;
    }
  }
}
