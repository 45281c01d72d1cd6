import type { FunctionTool } from '../../contract/request.ts'
import type { EndMark, EndMarks } from '../scan/end-marks.ts'
import { readString } from '../scan/json-string.ts'
import { jsonReader, readValue } from '../scan/json-value.ts'
import { soleStringProperty } from '../scan/schema-types.ts'
import {
  accept,
  acceptAfterSpace,
  collectText,
  completeFeed,
  peek,
  type Reading,
  readNow,
  space,
  type TextFeed,
} from '../scan/text-feed.ts'
import { type CallReader, type CallWriter, declaredArguments } from './call-writer.ts'
import { readItems, readSeparatorOf } from './list-items.ts'
import { acceptNoArguments, objectIsNext, readArguments, writeEmptyCall } from './read-arguments.ts'
import { endMarks } from './turn-marks.ts'

type CallObjectOptions = {
  /** Without a tag, it must look like a call in every way: with arguments, and without other keys. */
  readonly bare?: boolean
  /** Its id may come last, and is required. */
  readonly deferred?: boolean
  /** It is the value of `"function"`, and contains no other such value. */
  readonly inFunction?: boolean
  /** The tags that end the call. */
  readonly ends?: EndMarks
}

const nameKeys = new Set(['name', 'tool_name', 'function_name'])
const argumentKeys = new Set(['arguments', 'parameters', 'args'])
const idKeys = new Set(['id', 'tool_call_id', 'call_id'])

/** Anything in brackets may be a call and is read again from every bracket: without this limit, long answers would become slow. */
const maxHeldDepth = 24

/** What was read of a call's object. */
type CallParts = {
  tool?: FunctionTool | undefined
  id?: string | undefined
  /** Arguments that came before the name. */
  held?: string | undefined
  isOpened: boolean
}

/** A member was read; broke off, so what came before it counts; or shows that the object is not a call. */
type MemberEnd = 'read' | 'broken' | 'no-call'

/** Reads `{"name": …, "arguments": {…}}`, in any order, flat or inside `"function"`. */
export function* readCallObject(writer: CallWriter, options: CallObjectOptions = {}): Reading<boolean> {
  const { feed } = writer
  if (!(yield* accept(feed, '{'))) return false
  yield* space(feed)
  const isDoubled = yield* accept(feed, '{')
  const parts: CallParts = { isOpened: false }
  let isClosed = false
  for (let isFirst = true; !isClosed; isFirst = false) {
    yield* space(feed)
    const hasComma = isFirst || (yield* accept(feed, ','))
    yield* space(feed)
    isClosed = yield* accept(feed, '}')
    if (isClosed || !hasComma) break
    const end = yield* readMember(writer, parts, options)
    if (end === 'no-call') return false
    if (end === 'broken') break
  }
  if (isDoubled && isClosed) yield* acceptAfterSpace(feed, ['}'])
  const { tool, id, held, isOpened } = parts
  if (isOpened) {
    writer.close()
    return true
  }
  const isBegun = !isClosed && feed.at === feed.text.length
  const given = tool === undefined ? undefined : (held ?? (options.bare === true || isBegun ? undefined : '{}'))
  if (tool === undefined || given === undefined) return false
  return writeHeld(writer, tool, { json: given, id, isCertain: options.bare !== true })
}

/** Once the call is open, only its id still counts. */
function* readMember(writer: CallWriter, parts: CallParts, options: CallObjectOptions): Reading<MemberEnd> {
  const { feed } = writer
  const key = yield* readWord(feed)
  if (key === undefined) return 'broken'
  yield* space(feed)
  if (!(yield* accept(feed, ':'))) return 'broken'
  yield* space(feed)
  const next = yield* peek(feed)
  if (idKeys.has(key)) {
    parts.id = yield* readId(feed)
    if (parts.id === undefined) return 'broken'
    writer.callId = parts.id
    return 'read'
  }
  if (!parts.isOpened) {
    if (key === 'function' && next === '{' && options.inFunction !== true) {
      parts.isOpened = yield* readCallObject(writer, { ...options, inFunction: true })
      return parts.isOpened ? 'read' : 'no-call'
    }
    if (nameKeys.has(key) || key === 'function') {
      const name = yield* readWord(feed)
      parts.tool = name === undefined ? undefined : writer.tool(name)
      return parts.tool === undefined ? 'no-call' : 'read'
    }
    if (argumentKeys.has(key)) return yield* readArgumentsMember(writer, parts, options)
    const isUnlike = next === '{' || next === '[' || (key !== 'type' && key !== 'index')
    if (options.bare === true && isUnlike) return 'no-call'
  }
  return (yield* readHeld(feed)) === undefined ? 'broken' : 'read'
}

function* readArgumentsMember(writer: CallWriter, parts: CallParts, options: CallObjectOptions): Reading<MemberEnd> {
  const { feed } = writer
  const next = yield* peek(feed)
  const { tool, id } = parts
  if (tool !== undefined && next === '{') {
    if (!(yield* objectIsNext(feed))) return 'no-call'
    if (options.deferred === true) writer.openDeferred(tool, id)
    else writer.open(tool, id)
    parts.isOpened = true
    return (yield* readArguments(writer, tool, options)) ? 'read' : 'broken'
  }
  if (options.bare === true && next !== '{' && next !== '"' && next !== 'n') return 'no-call'
  // An omitted value means no arguments.
  parts.held = next === '}' || next === ',' ? 'null' : yield* readHeld(feed)
  return parts.held === undefined ? 'no-call' : 'read'
}

/** Reads `{"NAME": {…}}`: the name is the key. */
export function* readNamedObject(writer: CallWriter, options: CallObjectOptions = {}): Reading<boolean> {
  const { feed } = writer
  if (!(yield* accept(feed, '{'))) return false
  yield* space(feed)
  const ends = (yield* accept(feed, '{')) ? ['}}', '}'] : ['}']
  yield* space(feed)
  const name = yield* readWord(feed)
  const tool = name === undefined ? undefined : writer.tool(name)
  yield* space(feed)
  if (tool === undefined || !(yield* accept(feed, ':'))) return false
  if (yield* acceptNoArguments(feed, tool, { ends: ['}'] })) {
    writeEmptyCall(writer, tool)
    yield* acceptAfterSpace(feed, ends)
    return true
  }
  if (!(yield* objectIsNext(feed))) return false
  writer.open(tool)
  yield* readArguments(writer, tool, options)
  writer.close()
  yield* acceptAfterSpace(feed, ends)
  return true
}

/** Reads calls in a row: in brackets or not, separated by commas, semicolons or nothing, up to a closing tag. */
export function readCallList(options: {
  readonly close: readonly string[]
  /** Tags that end arguments besides `close`. */
  readonly ends?: readonly EndMark[]
  readonly bare?: boolean
  /** After an unreadable part, up to a tag of `close`, more calls may follow. */
  readonly isBlock?: boolean
  readonly one?: (writer: CallWriter, options: CallObjectOptions) => Reading<boolean>
}): CallReader {
  const { close, bare = false, one = readCallObject } = options
  const ends = endMarks([
    ...close.map((tag) => ({ tag, before: options.ends?.map((end) => end.tag) ?? [] })),
    ...(options.ends ?? []),
  ])
  const closers = close.flatMap((tag) => [tag, `}${tag}`, `}\n${tag}`])
  return function* (writer) {
    const { feed } = writer
    const bracketed = (yield* acceptAfterSpace(feed, ['['])) !== undefined
    yield* space(feed)
    const isMade = yield* readItems(writer, {
      readCall: () => one(writer, { bare, ends }),
      *readSeparator() {
        return (yield* readSeparatorOf(feed, ',;', false)) && (yield* peek(feed)) === '{'
      },
      isCall: (text) =>
        /^\{.*["'](?:name|tool_name|function_name)["']\s*:/s.test(text) && /["'](?:arguments|parameters|args)["']\s*:/.test(text),
      bracketed,
    })
    if (!isMade) return false
    if (bracketed || writer.blockIsOpen) yield* acceptAfterSpace(feed, [']'])
    if (closers.length > 0) {
      const isClosed = (yield* acceptAfterSpace(feed, closers)) !== undefined
      writer.blockIsOpen = options.isBlock === true && !isClosed
    }
    return true
  }
}

/** Arguments that are complete: JSON of any type. */
type HeldCall = {
  readonly json: string
  readonly id: string | undefined
  /** A tag marks it as a call, with any arguments. */
  readonly isCertain: boolean
}

/** Writes a call whose arguments are complete. False if they make it unlikely to be a call. */
function writeHeld(writer: CallWriter, tool: FunctionTool, { json, id, isCertain }: HeldCall): boolean {
  const object = asObject(json, tool)
  if (object === undefined && !isCertain) return false
  writer.open(tool, id)
  if (object === undefined) {
    writer.unparseableFrom(json)
  } else {
    readNow(readArguments(writer, tool, { feed: completeFeed(object) }))
    // Neither an object nor one in a string, as OpenAI writes it.
    if (json.startsWith('"') && !JSON.parse(json).trim().startsWith('{')) writer.repairedFrom(json)
  }
  writer.close()
  return true
}

function asObject(json: string, tool: FunctionTool): string | undefined {
  if (json.startsWith('{')) return json
  if (json === 'null') return '{}'
  if (!json.startsWith('"')) return undefined
  const text: string = JSON.parse(json).trim()
  if (text === '' || text.startsWith('{')) return text === '' ? '{}' : text
  const property = soleStringProperty(declaredArguments(tool))
  if (property === undefined && text === 'null') return '{}'
  return property === undefined ? undefined : JSON.stringify({ [property]: text })
}

/** A value that is held until it is complete. */
function* readHeld(feed: TextFeed): Reading<string | undefined> {
  const json = collectText()
  const reader = jsonReader(feed, { out: json.out, strict: true, maxDepth: maxHeldDepth })
  const isComplete = yield* readValue(reader, undefined)
  return isComplete ? json.text.trim() : undefined
}

/** An id: a string or a number. Empty for any other value. */
function* readId(feed: TextFeed): Reading<string | undefined> {
  const json = yield* readHeld(feed)
  if (json === undefined) return undefined
  if (json.startsWith('"')) return JSON.parse(json)
  return /^[\d-]/.test(json) ? json : ''
}

/** A quoted or unquoted word. */
function* readWord(feed: TextFeed): Reading<string | undefined> {
  const next = yield* peek(feed)
  if (next === '"' || next === "'") {
    const quoted = collectText()
    feed.at += 1
    const isComplete = yield* readString(feed, { quote: next, out: quoted.out })
    return isComplete ? JSON.parse(`"${quoted.text}"`) : undefined
  }
  let word = ''
  while (true) {
    const char = yield* peek(feed)
    if (char === '' || !/[\w.-]/.test(char)) return word === '' ? undefined : word
    word += char
    feed.at += 1
  }
}
