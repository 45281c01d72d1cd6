import { isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml'
import { messageOf } from '../contract/errors.ts'

/** A path in the configuration: keys and list indexes. */
export type ConfigPath = readonly PropertyKey[]

/** A parsed file that knows the line of each part. */
export type ConfigDocument = {
  readonly value: unknown
  /** Syntax errors, each with its line; if there are any, `value` is undefined. */
  readonly problems: readonly string[]
  /** The line (from 1) of a key, or of its closest parent in the file. */
  lineOf(path: ConfigPath): number | undefined
}

/** Parses YAML; JSON is YAML too. */
export function parseConfigDocument(text: string): ConfigDocument {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const problems = document.errors.map(({ message, pos }) => `line ${lines.linePos(pos[0]).line}: ${message}`)
  let value: unknown
  if (problems.length === 0) {
    try {
      value = document.toJS()
    } catch (error) {
      // Aliases that expand without limit are rejected here, not by the parser.
      problems.push(messageOf(error))
    }
  }
  return {
    value,
    problems,
    lineOf(path) {
      const offset = offsetOf(document.contents, path)
      return offset === undefined ? undefined : lines.linePos(offset).line
    },
  }
}

function offsetOf(contents: Node | null, path: ConfigPath): number | undefined {
  let node: unknown = contents
  let offset = contents?.range?.[0]
  for (const key of path) {
    if (isMap(node)) {
      const pair = node.items.find((item) => isScalar(item.key) && item.key.value === key)
      if (pair === undefined) break
      if (isScalar(pair.key)) offset = pair.key.range?.[0] ?? offset
      node = pair.value
    } else if (isSeq(node)) {
      const item = node.items[Number(key)]
      if (!isMap(item) && !isScalar(item) && !isSeq(item)) break
      offset = item.range?.[0] ?? offset
      node = item
    } else break
  }
  return offset
}
