import { isNode, stringify, type YAMLMap } from 'yaml'

/** A part of a text, and what takes its place. */
type Edit = { readonly from: number; readonly to: number; readonly text: string }

/** A value by its name in a map of a document; undefined removes it. */
export type Change = { readonly map: YAMLMap; readonly name: string; readonly value: unknown }

type Writing = { readonly text: string; readonly isJson: boolean }

/** A text of YAML or JSON with other values; all else stays as it is written. */
export function editText(writing: Writing, changes: readonly Change[]): string {
  const edits = changes.flatMap((change) => editOf(writing, change) ?? [])
  // From the end, so that places stay.
  const inOrder = edits.reverse().sort((one, other) => other.from - one.from)
  return inOrder.reduce((text, { from, to, text: replaced }) => text.slice(0, from) + replaced + text.slice(to), writing.text)
}

function editOf(writing: Writing, { map, name, value }: Change): Edit | undefined {
  const pairs = placesIn(map, writing.text)
  const at = pairs.findIndex((pair) => pair.name === name)
  const pair = pairs[at]
  if (pair === undefined) return value === undefined ? undefined : added(writing, { map, name, value }, pairs)
  if (value === undefined) return { ...removed(writing.text, { map, pairs, at }), text: '' }
  if (pair.from < pair.to) return { from: pair.from, to: pair.to, text: written(writing, value) }
  const behindColon = writing.text.indexOf(':', pair.keyTo) + 1
  return { from: behindColon, to: behindColon, text: ` ${written(writing, value)}` }
}

/** Where a pair begins, its key ends, and its value is. */
type Place = {
  readonly name: unknown
  readonly start: number
  readonly keyTo: number
  readonly from: number
  readonly to: number
}

function placesIn({ items }: YAMLMap, text: string): Place[] {
  return items.flatMap(({ key, value }) => {
    if (!isNode(key) || !key.range) return []
    const [start, keyTo] = key.range
    const [from, end] = (isNode(value) && value.range) || [keyTo, keyTo]
    // What is written in several lines ends with the last of them.
    return [{ name: key.toJSON(), start, keyTo, from, to: from + text.slice(from, end).trimEnd().length }]
  })
}

/** Behind the last pair in one line, at the end of which a comment may be. */
function added(writing: Writing, { map, name, value }: Change, pairs: readonly Place[]): Edit | undefined {
  const { text, isJson } = writing
  const pair = pairs.findLast(({ start, to }) => map.flow === true || !text.slice(start, to).includes('\n'))
  if (pair === undefined) return undefined
  const entry = `${isJson ? JSON.stringify(name) : name}: ${written(writing, value)}`
  const begin = lineStart(text, pair.start)
  const isAlone = text.slice(begin, pair.start).trim() === ''
  const indent = `${text.includes('\r\n') ? '\r\n' : '\n'}${' '.repeat(pair.start - begin)}`
  if (map.flow === true) return { from: pair.to, to: pair.to, text: `,${isAlone ? indent : ' '}${entry}` }
  const end = lineEnd(text, pair.to)
  return { from: end, to: end, text: indent + entry }
}

type Removing = { readonly map: YAMLMap; readonly pairs: readonly Place[]; readonly at: number }

function removed(text: string, { map, pairs, at }: Removing): Omit<Edit, 'text'> {
  const { start, to } = pairs[at] as Place
  const [before, next] = [pairs[at - 1], pairs[at + 1]]
  if (map.flow === true && before !== undefined) return { from: before.to, to }
  const begin = lineStart(text, start)
  // Behind the dash of a list, the next pair takes its place.
  if (text.slice(begin, start).trim() !== '') return { from: start, to: next?.start ?? to }
  return { from: begin, to: Math.min(text.length, text.indexOf('\n', to) + 1 || text.length) }
}

const lineStart = (text: string, at: number) => text.lastIndexOf('\n', at - 1) + 1

/** Before the break of the line. */
function lineEnd(text: string, at: number): number {
  const end = text.indexOf('\n', at)
  if (end === -1) return text.length
  return text[end - 1] === '\r' ? end - 1 : end
}

function written({ isJson }: Writing, value: unknown): string {
  return isJson ? JSON.stringify(value) : stringify(value, { collectionStyle: 'flow', lineWidth: 0 }).trimEnd()
}
