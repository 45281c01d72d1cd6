/** A longer name is never meant to be another one. */
const maxNameChars = 256

/**
 * The tool that a model, or a server, means by a name. A declared name means its tool. From any other, common additions and changes are
 * removed step by step, until the name of a tool is left; if several tools match, the name means no tool.
 */
export function findTool<Tool extends { readonly name: string }>(tools: readonly Tool[], written: string): Tool | undefined {
  // Formats read names until there is none.
  if (written === '') return undefined
  const exact = tools.find(({ name }) => name === written)
  if (exact !== undefined || written.length > maxNameChars) return exact
  const forms = formsOf(written)
  const find = (wantedForms: readonly string[], namesOf: (tool: Tool) => readonly string[]) => {
    for (const form of wantedForms) {
      for (const spell of spellings) {
        const wanted = spell(form)
        const fitting = wanted === '' ? [] : tools.filter((tool) => namesOf(tool).some((name) => spell(name) === wanted))
        if (fitting.length > 0) return fitting
      }
    }
    return []
  }
  const whole = find([...forms, ...forms.flatMap(withoutNamespaces)], ({ name }) => [name])
  // Conversely, a model may omit the namespaces of a declared name.
  const fitting = whole.length > 0 ? whole : find(forms, ({ name }) => withoutNamespaces(name))
  return fitting.length === 1 ? fitting[0] : undefined
}

/** The name of an undeclared tool, without the namespace and the number that some formats add to calls. */
export function undeclaredName(written: string): string {
  return clean(written)
    .replace(/^functions?\./i, '')
    .replace(/:\d+$/, '')
}

/** Names as they are, in any case, and with any separators or none. */
const spellings: readonly ((name: string) => string)[] = [
  (name) => name,
  (name) => name.toLowerCase(),
  (name) => name.toLowerCase().replace(/[-_.\s]+/g, ''),
]

/** The names that a written name may stand for, the nearest first. */
function formsOf(written: string): readonly string[] {
  const name = clean(written)
  // Kimi's ids are `functions.NAME:0`, and clients replace characters of ids.
  const uncounted = name.replace(/:\d+$/, '')
  const [, inFunctions] = /^(?:functions?[-._:])+(.+)$/i.exec(uncounted) ?? []
  const bare = inFunctions === undefined ? [uncounted] : [uncounted, inFunctions, inFunctions.replace(/[-._]?\d+$/, '')]
  // Llama 3 writes `NAME.call(…)` for its built-in tools.
  return [name, name.replace(/\.call$/, ''), ...bare]
}

/** A name without surrounding quotes, the brackets of a call, and special tokens of a header. */
function clean(written: string): string {
  const [name = ''] = written.trim().split(/<[|｜]/)
  return name.replace(/^[\s`"']+|[\s`"']+$/g, '').replace(/\s*\(\s*\)$/, '')
}

/** A name without the first of its namespaces, without the second, and so on. */
function withoutNamespaces(name: string): readonly string[] {
  const rest = /^.*?(?:::?|__|[./])(.+)$/s.exec(name)?.[1]
  return rest === undefined ? [] : [rest, ...withoutNamespaces(rest)]
}

/** Other spellings of a name, for formats whose calls begin with the name. */
export function spellingsOf(name: string): readonly string[] {
  const lower = name.split(/[-_.]+|(?<=[a-z])(?=[A-Z])/).map((word) => word.toLowerCase())
  const title = lower.map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
  const camel = [...lower.slice(0, 1), ...title.slice(1)].join('')
  const separated = ['', '_', '-', '.'].flatMap((separator) => [lower.join(separator), title.join(separator)])
  const bare = [name, name.toLowerCase(), name.toUpperCase(), camel, ...separated, ...withoutNamespaces(name)]
  return [...new Set([...bare, `functions.${name}`])]
}
