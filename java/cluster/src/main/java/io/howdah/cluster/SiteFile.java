package io.howdah.cluster;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import javax.xml.parsers.DocumentBuilder;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import org.w3c.dom.Element;
import org.w3c.dom.Node;
import org.w3c.dom.NodeList;
import org.xml.sax.ErrorHandler;
import org.xml.sax.SAXException;
import org.xml.sax.SAXParseException;

/**
 * A site file of Hadoop's: properties in their order, with their descriptions and the comments between them. Whatever
 * writes site files does it here. Not thread-safe.
 */
final class SiteFile {
  private static final String INDENT = "  ";

  private String title = "";
  private final List<Item> items = new ArrayList<>();

  /** A property, or a comment, which has no name. Immutable. */
  private static final class Item {
    private final String name;
    /** The property's value or the comment's text. */
    private final String text;
    private final String description;
    private final boolean isFinal;

    Item(String name, String text, String description, boolean isFinal) {
      this.name = name;
      this.text = text;
      this.description = description;
      this.isFinal = isFinal;
    }

    Item with(UnaryOperator<String> change) {
      return name == null ? this : new Item(name, change.apply(text), description, isFinal);
    }

    void write(StringBuilder xml) {
      if (name == null) {
        xml.append(INDENT).append("<!--").append(text).append("-->\n");
        return;
      }
      xml.append(INDENT).append("<property>\n");
      tag(xml, "name", name);
      tag(xml, "value", text);
      if (isFinal) {
        tag(xml, "final", "true");
      }
      if (description != null) {
        tag(xml, "description", description);
      }
      xml.append(INDENT).append("</property>\n");
    }

    private static void tag(StringBuilder xml, String tag, String text) {
      xml.append(INDENT).append(INDENT).append('<').append(tag).append('>').append(escape(text))
          .append("</").append(tag).append(">\n");
    }

    private static String escape(String text) {
      return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;");
    }
  }

  /**
   * Reads a site file.
   *
   * @throws ClusterException naming file, line and cause if it is not well-formed or not a site file
   */
  static SiteFile read(Path file) {
    Element root;
    SiteFile site = new SiteFile();
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
    Node before = root;
    while ((before = before.getPreviousSibling()) != null) {
      if (before.getNodeType() == Node.COMMENT_NODE && site.title.isEmpty()) {
        site.title = before.getTextContent().trim();
      }
    }
    site.readItems(file, root);
    return site;
  }

  private void readItems(Path file, Element parent) {
    NodeList nodes = parent.getChildNodes();
    for (int i = 0; i < nodes.getLength(); i++) {
      Node node = nodes.item(i);
      if (node.getNodeType() == Node.COMMENT_NODE) {
        items.add(new Item(null, node.getTextContent(), null, false));
      } else if (node instanceof Element) {
        Element element = (Element) node;
        if (element.getTagName().equals("configuration")) {
          readItems(file, element);
        } else if (element.getTagName().equals("property")) {
          readProperty(file, element);
        } else {
          throw malformed(file, "it has <" + element.getTagName() + ">, which this command can't lay over other files");
        }
      }
    }
  }

  private void readProperty(Path file, Element entry) {
    String name = text(entry, "name");
    String value = text(entry, "value");
    if (name == null || name.trim().isEmpty()) {
      throw malformed(file, "property " + (properties().size() + 1) + " has no <name>");
    }
    if (value == null) {
      throw malformed(file, "property " + name.trim() + " has no <value>");
    }
    String isFinal = text(entry, "final");
    put(new Item(name.trim(), value, text(entry, "description"), isFinal != null && isFinal.trim().equals("true")));
  }

  private void put(Item item) {
    if (item.name != null) {
      for (int i = 0; i < items.size(); i++) {
        if (item.name.equals(items.get(i).name)) {
          items.set(i, item);
          return;
        }
      }
    }
    items.add(item);
  }

  /** The comment before the properties, or nothing. */
  String title() {
    return title;
  }

  SiteFile title(String text) {
    title = text;
    return this;
  }

  /** Sets a property, in the place where it stood or else at the end. */
  SiteFile set(String name, String value) {
    put(new Item(name, value, null, false));
    return this;
  }

  /** Sets properties in their order. */
  SiteFile set(Map<String, String> properties) {
    properties.forEach(this::set);
    return this;
  }

  /** Sets what another file has, descriptions and comments included. */
  SiteFile lay(SiteFile over) {
    over.items.forEach(this::put);
    return this;
  }

  /** The same file with each value changed. */
  SiteFile mapValues(UnaryOperator<String> change) {
    SiteFile changed = new SiteFile().title(title);
    items.forEach(item -> changed.items.add(item.with(change)));
    return changed;
  }

  /** Names and values, in their order. */
  Map<String, String> properties() {
    Map<String, String> properties = new LinkedHashMap<>();
    items.stream().filter(item -> item.name != null).forEach(item -> properties.put(item.name, item.text));
    return properties;
  }

  /** Writes the file. */
  void write(Path file) throws IOException {
    StringBuilder xml = new StringBuilder("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    if (!title.isEmpty()) {
      xml.append("<!-- ").append(title).append(" -->\n");
    }
    xml.append("<configuration>\n");
    items.forEach(item -> item.write(xml));
    Files.write(file, xml.append("</configuration>\n").toString().getBytes(StandardCharsets.UTF_8));
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
