import type { FunctionTool } from '../../contract/request.ts'
import { coerceBare } from '../scan/coerce-bare.ts'
import { passTo } from '../scan/pass-to.ts'
import { allowedTypes, type Declared, itemOf, propertyOf } from '../scan/schema-types.ts'
import {
  accept,
  acceptAfterSpace,
  collectText,
  followedBy,
  peek,
  type Reading,
  space,
  type TextFeed,
  until,
  upcoming,
} from '../scan/text-feed.ts'
import { type CallReader, type CallWriter, declaredArguments } from './call-writer.ts'
import { elementCalls } from './element-formats.ts'
import { acceptNoArguments, passOnTo } from './read-arguments.ts'
import type { ToolFormat } from './tool-format.ts'
import { turnEnds } from './turn-marks.ts'

const tagPrefix = ']<]minimax[>['
const maxDepth = 32

const readBlock: CallReader = function* (writer) {
  const { feed } = writer
  let made = false
  while (true) {
    if (made) feed.hold()
    if ((yield* acceptAfterSpace(feed, [`${tagPrefix}<invoke`])) === undefined || !(yield* readInvoke(writer))) break
    made = true
  }
  if (!made) return false
  feed.rewind()
  yield* acceptAfterSpace(feed, [`${tagPrefix}</tool_call>`])
  return true
}

/** A call whose block began with one of another tool. */
const readLoneInvoke: CallReader = function* (writer) {
  if (!(yield* readInvoke(writer))) return false
  yield* acceptAfterSpace(writer.feed, [`${tagPrefix}</tool_call>`])
  return true
}

function* readInvoke(writer: CallWriter): Reading<boolean> {
  const { feed } = writer
  const head = yield* until(feed, ['>'], 512)
  const name = head === undefined ? undefined : /\sname\s*=\s*"([^"]*)"/.exec(head)?.[1]
  const tool = name === undefined ? undefined : writer.tool(name)
  if (tool === undefined) return false
  feed.at += 1
  if ((yield* peek(feed)) === '' && !feed.truncated && !(yield* acceptNoArguments(feed, tool, { ends: [] })))
    return writer.unfinished()
  writer.open(tool)
  yield* readMembers(writer, tool)
  writer.close()
  return true
}

/** Reads the arguments; each is emitted when it is complete. An unreadable one makes them unparseable. */
function* readMembers(writer: CallWriter, tool: FunctionTool): Reading<void> {
  const { feed } = writer
  const declared = declaredArguments(tool)
  const ends = [`${tagPrefix}</invoke>`, `${tagPrefix}<invoke`, `${tagPrefix}</tool_call>`]
  const keys = new Set<string>()
  while (!(yield* followedBy(feed, ends))) {
    const member = yield* readMember(feed, declared, { depth: 0, outer: ends, onForgotten: () => writer.repaired() })
    if (member === undefined) {
      if (feed.truncated && feed.ended && feed.at === feed.text.length) writer.passOn()
      else yield* passOnTo(writer, [...ends, ...turnEnds])
      yield* acceptAfterSpace(feed, [`${tagPrefix}</invoke>`])
      return
    }
    const isRepeated = keys.has(member.key)
    if (isRepeated) writer.repaired()
    writer.arguments(isRepeated ? '' : `${keys.size === 0 ? '{' : ', '}${JSON.stringify(member.key)}: ${member.json}`)
    keys.add(member.key)
  }
  if (feed.truncated && feed.text.slice(feed.at).trim() === '') return writer.passOn()
  writer.arguments(keys.size === 0 ? '{}' : '}')
  writer.endArguments()
  yield* acceptAfterSpace(feed, [`${tagPrefix}</invoke>`])
}

/** The place of an element; a tag of `outer` ends it, too, if the model has forgotten its closing tag. */
type MemberPlace = { readonly depth: number; readonly outer: readonly string[]; onForgotten(): void }

/** Reads one element: its name, and its content as JSON. Undefined without one, or if the text ends inside it. */
function* readMember(
  feed: TextFeed,
  declared: Declared,
  { depth, outer, onForgotten }: MemberPlace,
): Reading<{ readonly key: string; readonly json: string } | undefined> {
  if (depth > maxDepth || (yield* acceptAfterSpace(feed, [`${tagPrefix}<`])) === undefined) return undefined
  const key = yield* until(feed, ['>'], 512)
  if (key === undefined || key.startsWith('/')) return undefined
  feed.at += 1
  const own = declared === undefined ? undefined : (propertyOf(declared, key) ?? (key === 'item' ? itemOf(declared) : undefined))
  const end = `${tagPrefix}</${key}>`
  const value = collectText()
  yield* passTo(feed, [tagPrefix], value.out)
  const { text } = value
  if (text.trim() === '' && (yield* upcoming(feed, [end, `${tagPrefix}<`])) !== end) {
    const members: { readonly key: string; readonly json: string }[] = []
    while ((yield* acceptAfterSpace(feed, [end])) === undefined) {
      yield* space(feed)
      if ((yield* upcoming(feed, outer)) !== undefined) {
        onForgotten()
        break
      }
      const member = yield* readMember(feed, own, { depth: depth + 1, outer, onForgotten })
      if (member === undefined) return undefined
      members.push(member)
    }
    return { key, json: writeMembers(members, own) }
  }
  const isClosed = yield* accept(feed, end)
  const isAtEnd = feed.ended && !feed.truncated && feed.at === feed.text.length
  if (!isClosed && !isAtEnd && (yield* upcoming(feed, outer)) === undefined) return undefined
  if (!isClosed) onForgotten()
  const content = isClosed ? text : text.replace(/\n$/, '')
  return { key, json: content === '' && allowedTypes(own)?.has('array') === true ? '[]' : coerceBare(content, own) }
}

function writeMembers(members: readonly { readonly key: string; readonly json: string }[], declared: Declared): string {
  const isList = allowedTypes(declared)?.has('array') ?? members.every(({ key }) => key === 'item')
  return isList
    ? `[${members.map(({ json }) => json).join(', ')}]`
    : `{${members.map(({ key, json }) => `${JSON.stringify(key)}: ${json}`).join(', ')}}`
}

/** MiniMax M3: an element for each argument, nested for objects and arrays; every tag has a prefix. */
export const minimaxM3: ToolFormat = {
  triggers: () => [
    { tag: `${tagPrefix}<tool_call>`, position: 'anywhere', endsReasoning: 'parsed', read: readBlock },
    { tag: `${tagPrefix}<invoke`, position: 'anywhere', endsReasoning: 'parsed', read: readLoneInvoke },
  ],
  visibleTokens: [tagPrefix, '<tool_call>', '</tool_call>'],
  describeCalls: elementCalls({
    prefix: `${tagPrefix}<tool_call>\n`,
    separator: '\n',
    suffix: `\n${tagPrefix}</tool_call>`,
    begin: (name) => `${tagPrefix}<invoke name="${name}">`,
    before: (key) => `${tagPrefix}<${key}>`,
    after: (key) => `${tagPrefix}</${key}>`,
    end: `${tagPrefix}</invoke>`,
  }),
}
