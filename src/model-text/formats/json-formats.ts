import type { FunctionTool } from '../../contract/request.ts'
import { escapeText } from '../scan/json-string.ts'
import { passTo } from '../scan/pass-to.ts'
import { soleStringProperty } from '../scan/schema-types.ts'
import { accept, acceptAfterSpace, peek, type Reading, space } from '../scan/text-feed.ts'
import { readCallList, readNamedObject } from './call-object.ts'
import { type CallReader, type CallWriter, declaredArguments } from './call-writer.ts'
import { jsonCalls, objectCalls } from './json-calls.ts'
import { llamaTools, namedCalls, readPythonCalls } from './python-calls.ts'
import { readBareFunction, readTaggedCall } from './tagged-calls.ts'
import type { DroppedTag, TagPosition, ToolFormat, Trigger } from './tool-format.ts'
import { turnEnds } from './turn-marks.ts'

const readBareList = readCallList({ close: [], bare: true })

const readExpressionList = readPythonCalls({ bracket: 'needed' })

/** A list of calls as JSON, or of expressions such as `f(a=1)`; anything else is text. */
const readBareListOrExpressions: CallReader = function* (writer) {
  const { feed } = writer
  const start = feed.at
  yield* acceptAfterSpace(feed, ['['])
  yield* space(feed)
  const next = yield* peek(feed)
  feed.at = start
  return yield* /[a-z_]/i.test(next ?? '') ? readExpressionList(writer) : readBareList(writer)
}

/** Calls in a Markdown fence, after its opening backticks. */
const readFenced: CallReader = function* (writer) {
  const { feed } = writer
  yield* acceptAfterSpace(feed, ['json', 'tool_call', 'tool_code'])
  yield* space(feed)
  const next = yield* peek(feed)
  if (next !== '{' && next !== '[') return false
  if (!(yield* readBareList(writer))) return false
  yield* acceptAfterSpace(feed, ['```'])
  return true
}

/** Calls as JSON without a tag, in this position. */
export function bareJson(position: TagPosition): readonly Trigger[] {
  return [
    { tag: '{', position, keep: true, read: readBareList },
    { tag: '[', position, keep: true, read: readBareList },
    { tag: '```', position: 'start', read: readFenced },
  ]
}

const taggedTriggers: readonly Trigger[] = [
  // Qwen 2.5 Coder repeats the tag of its list of tools.
  { tag: '<tools>', position: 'anywhere', read: readCallList({ close: ['</tools>'], isBlock: true }) },
  { tag: '<tool_call>', position: 'anywhere', endsReasoning: 'constrained', read: readTaggedCall },
  { tag: '<function', position: 'anywhere', read: readBareFunction },
]

/** Hermes, Qwen 2.5 and 3, Granite 4 and many more: `<tool_call>{"name": …, "arguments": {…}}</tool_call>`. */
export const hermes: ToolFormat = {
  triggers: () => [...taggedTriggers, ...bareJson('start')],
  visibleTokens: ['<tool_call>', '</tool_call>'],
  describeCalls: objectCalls({ prefix: '<tool_call>\n', separator: '\n</tool_call>\n<tool_call>\n', suffix: '\n</tool_call>' }),
}

/** For models of unknown format: JSON in any wrapping, or a call expression. */
export const genericJson: ToolFormat = {
  triggers: (tools) => [
    ...taggedTriggers,
    ...bareJson('unquoted').map((trigger) => (trigger.tag === '[' ? { ...trigger, read: readBareListOrExpressions } : trigger)),
    ...namedCalls(tools),
  ],
  visibleTokens: [],
  describeCalls: objectCalls({ prefix: '[', separator: ', ', suffix: ']' }),
}

/** A list of calls as JSON between two tags. */
function taggedList(options: {
  /** The first is the one that the model was taught; the others are tolerated. */
  readonly open: readonly string[]
  readonly close: readonly string[]
  readonly visible?: readonly string[]
  readonly bracketed?: boolean
}): ToolFormat {
  const { open, close, visible = [], bracketed = true } = options
  const read = readCallList({ close, isBlock: true, ends: open.map((tag) => ({ tag, before: ['{"', '[{', '[\n'] })) })
  const [prefix = '', suffix = ''] = [open[0], close[0]]
  return {
    triggers: () => [
      ...open.map((tag): Trigger => ({ tag, position: 'anywhere', endsReasoning: 'parsed', read })),
      ...bareJson('start'),
    ],
    visibleTokens: visible,
    describeCalls: objectCalls({
      prefix: bracketed ? `${prefix}[` : prefix,
      separator: bracketed ? ', ' : '\n',
      suffix: bracketed ? `]${suffix}` : suffix,
    }),
  }
}

/** MiniMax M1 and Apriel: `<tool_calls>` with a list, or one object in each line. */
export const toolCallsTag = taggedList({
  open: ['<tool_calls>'],
  close: ['</tool_calls>'],
  visible: ['<tool_calls>', '</tool_calls>'],
})

/** Nemotron Nano 2: `<TOOLCALL>[…]</TOOLCALL>`. */
export const nemotron = taggedList({
  open: ['<TOOLCALL>'],
  close: ['</TOOLCALL>'],
  visible: ['<TOOLCALL>', '</TOOLCALL>'],
})

/** Granite 3 and Phi 4: `<|tool_call|>[…]`. */
export const granite: ToolFormat = {
  ...taggedList({
    open: ['<|tool_call|>', '<tool_call>'],
    close: ['<|/tool_call|>', '</tool_call>'],
    visible: ['<|tool_call|>', '<|/tool_call|>'],
  }),
  droppedTags: [
    { tag: '<response>', position: 'start' },
    { tag: '</response>', position: 'anywhere', only: { closes: '<response>' } },
  ],
  describeCalls: objectCalls({ prefix: '<|tool_call|>[', separator: ', ', suffix: ']' }),
}

/** FireFunction: `functools[…]`. */
export const functools: ToolFormat = {
  ...taggedList({ open: ['functools'], close: [] }),
  describeCalls: objectCalls({ prefix: 'functools[', separator: ', ', suffix: ']' }),
}

/** InternLM 2 and Intern S1: one object with `parameters`, addressed to `<|plugin|>`. */
export const internlm: ToolFormat = {
  ...taggedList({
    open: ['<|action_start|><|plugin|>', '<|action_start|> <|plugin|>'],
    close: ['<|action_end|>'],
    visible: ['<|action_start|>', '<|plugin|>', '<|action_end|>'],
  }),
  describeCalls: objectCalls({
    prefix: '<|action_start|><|plugin|>\n',
    separator: '<|action_end|>\n<|action_start|><|plugin|>\n',
    suffix: '<|action_end|>',
    argumentsKey: 'parameters',
  }),
}

/** Granite 20B for function calling: an object after each `<function_call>`, which nothing closes. */
export const granite20b: ToolFormat = {
  ...taggedList({ open: ['<function_call>'], close: ['</function_call>'], visible: ['<function_call>'] }),
  describeCalls: objectCalls({ prefix: '<function_call> ', separator: ' <function_call> ' }),
}

const gigachatHead = '<|message_sep|>\n\nfunction call<|role_sep|>\n'

/** GigaChat 3: one object after `<|function_call|>`, or after a header. */
export const gigachat = taggedList({
  open: ['<|function_call|>', gigachatHead, 'function call<|role_sep|>\n'],
  close: [],
  visible: ['<|function_call|>', '<|message_sep|>', '<|role_sep|>'],
  bracketed: false,
})

/** GigaChat 3.0: a header in place of the tag. */
export const gigachatHeader: ToolFormat = {
  ...gigachat,
  describeCalls: objectCalls({ prefix: gigachatHead, separator: gigachatHead }),
}

/** Command R7B and A: `<|START_ACTION|>[{"tool_call_id": …, "tool_name": …, "parameters": {…}}]<|END_ACTION|>`. */
export const commandR7b: ToolFormat = {
  ...taggedList({ open: ['<|START_ACTION|>'], close: ['<|END_ACTION|>'] }),
  droppedTags: [
    ...['<|START_RESPONSE|>', '<|START_TEXT|>'].map((tag): DroppedTag => ({ tag, position: 'anywhere', beginsAnswer: true })),
    ...['<|END_RESPONSE|>', '<|END_TEXT|>'].map((tag): DroppedTag => ({ tag, position: 'anywhere' })),
  ],
  visibleTokens: [
    '<|START_ACTION|>',
    '<|END_ACTION|>',
    '<|START_RESPONSE|>',
    '<|END_RESPONSE|>',
    '<|START_TEXT|>',
    '<|END_TEXT|>',
  ],
  describeCalls: objectCalls({
    prefix: '<|START_ACTION|>[\n    ',
    separator: ',\n    ',
    suffix: '\n]<|END_ACTION|>',
    nameKey: 'tool_name',
    argumentsKey: 'parameters',
  }),
}

/** Command R and R+: a list in a fence after `Action:`. */
export const commandR: ToolFormat = {
  triggers: () => [{ tag: 'Action:', position: 'line', read: readAction }, ...bareJson('start')],
  visibleTokens: [],
  describeCalls: objectCalls({
    prefix: 'Action:\n```json\n[\n',
    separator: ',\n',
    suffix: '\n]\n```',
    nameKey: 'tool_name',
    argumentsKey: 'parameters',
  }),
}

function* readAction(writer: CallWriter): Reading<boolean> {
  return (yield* acceptAfterSpace(writer.feed, ['```'])) !== undefined && (yield* readFenced(writer))
}

/** Apertus: `<|tools_prefix|>[{"NAME": {…}}, …]<|tools_suffix|>`. */
export const apertus: ToolFormat = {
  triggers: () => [
    {
      tag: '<|tools_prefix|>',
      position: 'anywhere',
      endsReasoning: 'parsed',
      read: readCallList({ close: ['<|tools_suffix|>'], one: readNamedObject }),
    },
  ],
  visibleTokens: ['<|tools_prefix|>', '<|tools_suffix|>'],
  describeCalls: jsonCalls({
    prefix: '<|tools_prefix|>[',
    separator: ', ',
    suffix: ']<|tools_suffix|>',
    before: (name) => `{${JSON.stringify(name)}: `,
    after: '}',
  }),
}

const readPython = readPythonCalls()

/** Llama 3: a JSON object with `parameters`, or after `<|python_tag|>`, which also calls built-in tools as Python does. */
export const llama3: ToolFormat = {
  triggers: (tools) => [
    { tag: '<|python_tag|>', position: 'anywhere', endsReasoning: 'parsed', read: readPythonTag },
    ...builtInCalls(tools),
    { tag: '<function', position: 'anywhere', read: readBareFunction },
    ...bareJson('line').filter(({ tag }) => tag !== '['),
    { tag: '[', position: 'line', keep: true, read: readListOfEither },
  ],
  visibleTokens: ['<|python_tag|>'],
  describeCalls: objectCalls({ separator: '; ', argumentsKey: 'parameters' }),
}

/** Llama 4: Python calls in a list, between tags or not. */
export const llama4: ToolFormat = {
  ...llama3,
  triggers: (tools) => [
    { tag: '<|python_start|>', position: 'anywhere', endsReasoning: 'parsed', read: readTaggedPython },
    ...llama3.triggers(tools),
  ],
  visibleTokens: ['<|python_start|>', '<|python_end|>', '<|python_tag|>'],
}

function builtInCalls(tools: readonly FunctionTool[]): readonly Trigger[] {
  const callable = tools.filter(({ name }) => llamaTools.has(name))
  return callable.map(({ name }) => ({ tag: `${name}.call(`, position: 'line', keep: true, read: readPython }))
}

function* readListOfEither(writer: CallWriter): Reading<boolean> {
  const { feed } = writer
  yield* accept(feed, '[')
  yield* space(feed)
  const next = yield* peek(feed)
  if (next === '{') return (yield* readBareList(writer)) && (yield* closeList(writer))
  return (yield* readPython(writer)) && (yield* closeList(writer))
}

function* closeList({ feed }: CallWriter): Reading<true> {
  yield* acceptAfterSpace(feed, [']'])
  return true
}

function* readPythonTag(writer: CallWriter): Reading<boolean> {
  const { feed } = writer
  yield* space(feed)
  const next = yield* peek(feed)
  if (next === '{') return yield* readBareList(writer)
  return yield* readOrCode(writer, { read: next === '[' ? readListOfEither : readPython, ends: turnEnds })
}

const pythonEnd = '<|python_end|>'
const readTaggedPython: CallReader = (writer) =>
  readOrCode(writer, { read: readPythonCalls({ close: [pythonEnd] }), ends: [pythonEnd, ...turnEnds] })

/** Functionary 3.1: `<function=NAME>{…}</function>`. */
export const functionaryV31: ToolFormat = {
  triggers: llama3.triggers,
  visibleTokens: ['<|python_tag|>'],
  describeCalls: jsonCalls({ before: (name) => `<function=${name}>`, after: '</function>' }),
}

/** Reads calls or, without any, code for Llama's own interpreter, if it may be called. */
function* readOrCode(
  writer: CallWriter,
  { read, ends }: { readonly read: CallReader; readonly ends: readonly string[] },
): Reading<boolean> {
  const { feed } = writer
  yield* space(feed)
  const from = feed.position
  if (yield* read(writer)) return true
  feed.at -= feed.position - from
  writer.endList(false)
  const tool = writer.tools.find(({ name }) => name === 'code_interpreter')
  if (tool === undefined || (yield* peek(feed)) === '') return false
  writer.open(tool)
  writer.arguments(`{${JSON.stringify(soleStringProperty(declaredArguments(tool)) ?? 'code')}: "`)
  const isEnded = yield* passTo(feed, ends, (text) => writer.arguments(escapeText(text)))
  if (isEnded || !feed.truncated) writer.arguments('"}')
  writer.close()
  yield* acceptAfterSpace(feed, ends)
  return true
}
