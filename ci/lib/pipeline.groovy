// Runs ci/Jenkinsfile (args[0]) as Groovy, with a stand-in for each word of the declarative language, and prints its stages in
// order: "stage NAME", then "  agent LABEL", "  sh COMMAND", "  junit PATTERN" of each, "  post CONDITION" before what follows.
// A word that is not known is an error; that Jenkins takes the file is not proved by this, only that it is what was meant.

class Pipeline {
  static final CONDITIONS = ['always', 'success', 'failure', 'unstable', 'changed', 'cleanup'] as Set
  static final BLOCKS = ['pipeline', 'stages', 'parallel', 'steps', 'post', 'options', 'parameters', 'when', 'environment',
                         'agent', 'expression'] as Set
  static final WORDS = ['timestamps', 'timeout', 'buildDiscarder', 'logRotator', 'booleanParam', 'beforeAgent', 'tag',
                        'credentials', 'archiveArtifacts'] as Set
  final params = [SLOW: true, NATIVE_POWER: true]
  def none = 'none'

  def block(Closure body) {
    body.delegate = this
    body.resolveStrategy = Closure.DELEGATE_FIRST
    body()
  }

  def stage(String name, Closure body) { println "stage ${name}"; block(body) }
  def label(String value) { println "  agent ${value}" }
  def sh(String command) { println "  sh ${command}" }
  def junit(String pattern) { println "  junit ${pattern}" }
  void setProperty(String name, Object value) { if (!name.matches(/[A-Z_]+/)) { throw new MissingPropertyException(name, Pipeline) } }

  def methodMissing(String name, Object args) {
    def list = args as List
    if (name == 'agent' && list == ['none']) { return null }
    if (CONDITIONS.contains(name)) { println "  post ${name}"; return block(list[0]) }
    if (BLOCKS.contains(name)) { return block(list[0]) }
    if (!WORDS.contains(name)) { throw new MissingMethodException(name, Pipeline, args as Object[]) }
    name
  }
}

def pipeline = new Pipeline()
def script = new GroovyShell(new Binding(), new org.codehaus.groovy.control.CompilerConfiguration(
    scriptBaseClass: DelegatingScript.name)).parse(new File(args[0]))
script.setDelegate(pipeline)
script.run()
