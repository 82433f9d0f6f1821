package io.howdah.cluster;

import java.io.IOException;
import java.math.BigInteger;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import javax.xml.parsers.DocumentBuilder;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;
import org.xml.sax.SAXException;
import org.xml.sax.helpers.DefaultHandler;

/**
 * A machine's topology in a file that hwloc has written (lstopo FILE.xml), version 1 or 2. Of nodes that have the same
 * cores, as high-bandwidth memory beside a socket's own, the largest counts; nodes without cores do not.
 */
final class TopologyFile {
  private static final long MB = 1 << 20;

  private final Path file;
  private final NodeList objects;
  private BitSet allowed;

  private TopologyFile(Path file, Element root) {
    this.file = file;
    this.objects = root.getElementsByTagName("object");
  }

  /**
   * Reads a file.
   *
   * @throws ClusterException naming the file if it is no topology
   */
  static Topology read(Path file) {
    Element root;
    try {
      root = parser().parse(file.toFile()).getDocumentElement();
    } catch (SAXException | IOException e) {
      throw new ClusterException(file + " can't be read as a topology: " + e.getMessage(),
          "make it by: lstopo FILE.xml");
    }
    if (!"topology".equals(root.getTagName()) || root.getElementsByTagName("object").getLength() == 0) {
      throw new ClusterException(file + " is no topology of hwloc", "make it by: lstopo FILE.xml");
    }
    return new TopologyFile(file, root).topology();
  }

  private static DocumentBuilder parser() {
    try {
      DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
      // The file names hwloc's DTD, which is not there.
      factory.setFeature("http://apache.org/xml/features/nonvalidating/load-external-dtd", false);
      factory.setFeature("http://xml.org/sax/features/external-general-entities", false);
      factory.setFeature("http://xml.org/sax/features/external-parameter-entities", false);
      DocumentBuilder parser = factory.newDocumentBuilder();
      parser.setErrorHandler(new DefaultHandler()); // throws instead of printing
      return parser;
    } catch (ParserConfigurationException e) {
      throw new IllegalStateException(e);
    }
  }

  private Topology topology() {
    Element machine = (Element) objects.item(0);
    allowed = machine.hasAttribute("allowed_cpuset") ? bits(machine, "allowed_cpuset") : bits(machine, "cpuset");
    List<Topology.Core> cores = cores();
    List<Element> places = new ArrayList<>();
    for (Element node : ofType("NUMANode")) {
      addPlace(places, node);
    }
    if (places.isEmpty()) {
      places.add(machine); // as version 1 writes a machine with one node
    }
    List<Topology.Node> nodes = new ArrayList<>();
    for (Element place : places) {
      BitSet threads = bits(place, "cpuset");
      List<Topology.Core> own = new ArrayList<>();
      cores.stream().filter(core -> core.threads().intersects(threads)).forEach(own::add);
      nodes.add(new Topology.Node(place == machine ? 0 : (int) number(place, "os_index"), memory(place), own));
    }
    return new Topology(file.toString(), nodes);
  }

  private void addPlace(List<Element> places, Element node) {
    for (int i = 0; i < places.size(); i++) {
      if (bits(places.get(i), "cpuset").equals(bits(node, "cpuset"))) {
        if (memory(node) > memory(places.get(i))) {
          places.set(i, node);
        }
        return;
      }
    }
    places.add(node);
  }

  /** Cores that may be used; each thread where the file has no cores. */
  private List<Topology.Core> cores() {
    List<Element> found = ofType("Core");
    List<Topology.Core> cores = new ArrayList<>();
    for (Element object : found.isEmpty() ? ofType("PU") : found) {
      BitSet threads = bits(object, "cpuset");
      threads.and(allowed);
      if (!threads.isEmpty()) {
        cores.add(new Topology.Core(threads));
      }
    }
    return cores;
  }

  private List<Element> ofType(String type) {
    List<Element> found = new ArrayList<>();
    for (int i = 0; i < objects.getLength(); i++) {
      Element object = (Element) objects.item(i);
      if (type.equals(object.getAttribute("type"))) {
        found.add(object);
      }
    }
    return found;
  }

  private long memory(Element node) {
    return node.hasAttribute("local_memory") ? number(node, "local_memory") / MB : 0;
  }

  private long number(Element object, String name) {
    String text = object.getAttribute(name);
    if (!text.matches("[0-9]{1,18}")) {
      throw malformed(name, text);
    }
    return Long.parseLong(text);
  }

  /** hwloc's text form: words of 32 bits in hexadecimal digits, the highest first; an empty one is 0. */
  private BitSet bits(Element object, String name) {
    String text = object.getAttribute(name);
    BigInteger value = BigInteger.ZERO;
    for (String word : text.split(",", -1)) {
      String digits = word.startsWith("0x") ? word.substring(2) : word;
      if (!digits.matches("[0-9a-fA-F]{0,8}")) {
        throw malformed(name, text);
      }
      value = value.shiftLeft(32).or(digits.isEmpty() ? BigInteger.ZERO : new BigInteger(digits, 16));
    }
    BitSet bits = new BitSet();
    for (int bit = 0; bit < value.bitLength(); bit++) {
      bits.set(bit, value.testBit(bit));
    }
    return bits;
  }

  private ClusterException malformed(String name, String text) {
    return new ClusterException(file + ": " + name + "=\"" + text + "\" is not what hwloc writes",
        "make the file by: lstopo FILE.xml");
  }
}
