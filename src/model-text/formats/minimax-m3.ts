import type { FunctionTool } from '../../contract/request.ts'
import { coerceBare } from '../scan/coerce-bare.ts'
import { passTo } from '../scan/pass-to.ts'
import { allowedTypes, type Declared, itemOf, propertyOf } from '../scan/schema-types.ts'
import {
  accept,
  acceptAfterSpace,
  collectText,
  followedBy,
  type Reading,
  type TextFeed,
  until,
  upcoming,
} from '../scan/text-feed.ts'
import { type CallReader, type CallWriter, declaredArguments } from './call-writer.ts'
import { elementCalls } from './element-formats.ts'
import { passOnTo } from './read-arguments.ts'
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

function* readInvoke(writer: CallWriter): Reading<boolean> {
  const { feed } = writer
  const head = yield* until(feed, ['>'], 512)
  const name = head === undefined ? undefined : /\sname\s*=\s*"([^"]*)"/.exec(head)?.[1]
  const tool = name === undefined ? undefined : writer.tool(name)
  if (tool === undefined) return false
  feed.at += 1
  writer.open(tool)
  yield* readMembers(writer, tool)
  writer.close()
  return true
}

/** Reads the arguments; each is emitted when it is complete. What cannot be read makes them unparseable. */
function* readMembers(writer: CallWriter, tool: FunctionTool): Reading<void> {
  const { feed } = writer
  const declared = declaredArguments(tool)
  const ends = [`${tagPrefix}</invoke>`, `${tagPrefix}<invoke`, `${tagPrefix}</tool_call>`]
  let separator = '{'
  while (!(yield* followedBy(feed, ends))) {
    const member = yield* readMember(feed, declared, 0)
    if (member === undefined) {
      if (feed.truncated && feed.ended && feed.at === feed.text.length) writer.passOn()
      else yield* passOnTo(writer, [...ends, ...turnEnds])
      yield* acceptAfterSpace(feed, [`${tagPrefix}</invoke>`])
      return
    }
    writer.arguments(`${separator}${JSON.stringify(member.key)}: ${member.json}`)
    separator = ', '
  }
  if (feed.truncated && feed.text.slice(feed.at).trim() === '') return writer.passOn()
  writer.arguments(separator === '{' ? '{}' : '}')
  writer.endArguments()
  yield* acceptAfterSpace(feed, [`${tagPrefix}</invoke>`])
}

/** Reads one element: its name, and its content as JSON. Undefined when there is none, or the text ends inside it. */
function* readMember(
  feed: TextFeed,
  declared: Declared,
  depth: number,
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
      const member = yield* readMember(feed, own, depth + 1)
      if (member === undefined) return undefined
      members.push(member)
    }
    return { key, json: writeMembers(members, own) }
  }
  if (!(yield* accept(feed, end))) return undefined
  return { key, json: text === '' && allowedTypes(own)?.has('array') === true ? '[]' : coerceBare(text, own) }
}

function writeMembers(members: readonly { readonly key: string; readonly json: string }[], declared: Declared): string {
  const isList = allowedTypes(declared)?.has('array') ?? members.every(({ key }) => key === 'item')
  return isList
    ? `[${members.map(({ json }) => json).join(', ')}]`
    : `{${members.map(({ key, json }) => `${JSON.stringify(key)}: ${json}`).join(', ')}}`
}

/** MiniMax M3: an element for each argument, nested for objects and arrays; every tag has a prefix. */
export const minimaxM3: ToolFormat = {
  triggers: () => [{ tag: `${tagPrefix}<tool_call>`, position: 'anywhere', endsReasoning: 'parsed', read: readBlock }],
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
