// Reads the bom (args[0]) as Bigtop does and prints it as shell assignments: NAME_VERSION, NAME_RELEASE, and for what
// is rebuilt from Maven artifacts NAME_GROUP and NAME_PATCHED. Fails on a component that lacks what Bigtop requires.

def bom = new ConfigSlurper().parse(new File(args[0]).toURI().toURL()).bigtop
def quote = { "'" + it.toString().replace("'", "'\\''") + "'" }
def require = { what, value ->
  if (!value) { System.err.println("${args[0]}: ${what} is missing"); System.exit(1) }
  value
}

println "BIGTOP_VERSION=" + quote(require('bigtop.version', bom.version))
bom.stack.each { name, item ->
  println "${name.toUpperCase()}_VERSION=" + quote(require("stack.${name}.version", item.version))
}
bom.components.each { label, item ->
  def name = label.toUpperCase().replace('-', '_')
  if (item.name != label) { System.err.println("${args[0]}: component ${label} is named ${item.name}"); System.exit(1) }
  println "${name}_VERSION=" + quote(require("${label}.version.base", item.version.base))
  println "${name}_RELEASE=" + quote(require("${label}.version.release", item.version.release))
  if (item.maven) {
    println "${name}_GROUP=" + quote(require("${label}.maven.group", item.maven.group))
    println "${name}_PATCHED=" + quote(require("${label}.maven.patched", item.maven.patched).join(' '))
  }
}
