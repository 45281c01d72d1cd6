import { argumentsSchema } from '../../canonical/callable-tools.ts'
import type { FunctionTool } from '../../contract/request.ts'
import { acceptAfterSpace, type Reading, space } from '../scan/text-feed.ts'
import type { CallReader, CallWriter } from './call-writer.ts'
import { spellingsOf } from './find-tool.ts'
import { type HeadedStyle, readHeadedCalls } from './headed-calls.ts'
import { jsonCalls, text } from './json-calls.ts'
import { acceptNoArguments, objectIsNext, readArguments, readNameBefore, writeEmptyCall } from './read-arguments.ts'
import type { DroppedTag, ToolFormat, Trigger } from './tool-format.ts'
import { turnEnds } from './turn-marks.ts'

const deepseekStyle: HeadedStyle = {
  begin: ['<｜tool▁call▁begin｜>'],
  headEnds: ['<｜tool▁sep｜>'],
  // The kind of the tool, with the name on the next line; later models write the name here.
  readHead: (head) => ({ name: head === 'function' ? '' : head }),
  end: ['<｜tool▁call▁end｜>'],
  blockEnd: ['<｜tool▁calls▁end｜>'],
}

const deepseekBlocks = [
  '<｜tool▁calls▁begin｜>',
  '<｜tool_calls_begin｜>',
  '<｜tool calls begin｜>',
  '<｜tool\\_calls\\_begin｜>',
  '<｜tool▁calls｜>',
]

const deepseekTriggers: readonly Trigger[] = [
  ...deepseekBlocks.map(
    (tag): Trigger => ({
      tag,
      position: 'anywhere',
      endsReasoning: 'parsed',
      read: readHeadedCalls(deepseekStyle, { begun: false }),
    }),
  ),
  {
    tag: '<｜tool▁call▁begin｜>',
    position: 'anywhere',
    endsReasoning: 'parsed',
    read: readHeadedCalls(deepseekStyle, { begun: true }),
  },
]

const deepseekTokens = [
  '<｜tool▁calls▁begin｜>',
  '<｜tool▁call▁begin｜>',
  '<｜tool▁sep｜>',
  '<｜tool▁call▁end｜>',
  '<｜tool▁calls▁end｜>',
]

/** Tags around the results of tools, which a model may repeat. */
const deepseekOutputs = ['<｜tool▁outputs▁begin｜>', '<｜tool▁outputs▁end｜>', '<｜tool▁output▁begin｜>', '<｜tool▁output▁end｜>']

/** DeepSeek V3 and R1: a fence of JSON after `function<｜tool▁sep｜>NAME`. */
export const deepseek: ToolFormat = {
  triggers: () => deepseekTriggers,
  droppedTags: deepseekOutputs.map((tag) => ({ tag, position: 'anywhere' })),
  visibleTokens: deepseekTokens,
  describeCalls: jsonCalls({
    prefix: '<｜tool▁calls▁begin｜>',
    separator: '\n',
    suffix: '<｜tool▁calls▁end｜>',
    before: (name) => `<｜tool▁call▁begin｜>function<｜tool▁sep｜>${name}\n\`\`\`json\n`,
    after: '\n```<｜tool▁call▁end｜>',
  }),
}

/** DeepSeek V3.1: JSON after `NAME<｜tool▁sep｜>`. */
export const deepseekV31: ToolFormat = {
  ...deepseek,
  describeCalls: jsonCalls({
    prefix: '<｜tool▁calls▁begin｜>',
    suffix: '<｜tool▁calls▁end｜>',
    before: (name) => `<｜tool▁call▁begin｜>${name}<｜tool▁sep｜>`,
    after: '<｜tool▁call▁end｜>',
  }),
}

const kimiStyle: HeadedStyle = {
  begin: ['<|tool_call_begin|>'],
  headEnds: ['<|tool_call_argument_begin|>'],
  readHead(head) {
    // Some answers only number their calls.
    if (/^(?:call_?)?\d+$/.test(head)) return { name: undefined }
    // It is an id, with a counter after the name.
    const name = head.startsWith('functions.') ? head : `functions.${head}`
    return { name, ...(/^functions\..+:\d+$/s.test(head) && { id: head }) }
  },
  end: ['<|tool_call_end|>'],
  blockEnd: ['<|tool_calls_section_end|>', '<|tool_call_section_end|>'],
}

/** Kimi K2: `functions.NAME:0` is the call's id, and later turns of the conversation have to repeat it. */
export const kimiK2: ToolFormat = {
  triggers: () => [
    ...['<|tool_calls_section_begin|>', '<|tool_call_section_begin|>'].map(
      (tag): Trigger => ({
        tag,
        position: 'anywhere',
        endsReasoning: 'parsed',
        read: readHeadedCalls(kimiStyle, { begun: false }),
      }),
    ),
    {
      tag: '<|tool_call_begin|>',
      position: 'anywhere',
      endsReasoning: 'parsed',
      read: readHeadedCalls(kimiStyle, { begun: true }),
    },
  ],
  visibleTokens: [
    '<|tool_calls_section_begin|>',
    '<|tool_call_begin|>',
    '<|tool_call_argument_begin|>',
    '<|tool_call_end|>',
    '<|tool_calls_section_end|>',
  ],
  describeCalls: (tools, { parallel }) => ({
    prefix: '<|tool_calls_section_begin|>',
    suffix: '<|tool_calls_section_end|>',
    ...(parallel && { separator: '' }),
    calls: tools.map((tool) => ({
      name: tool.name,
      pieces: [
        text(`<|tool_call_begin|>functions.${tool.name}:`),
        { type: 'position', first: 0 },
        text('<|tool_call_argument_begin|>'),
        { type: 'json', schema: argumentsSchema(tool) },
        text('<|tool_call_end|>'),
      ],
    })),
  }),
}

const solarStyle: HeadedStyle = {
  begin: ['<|tool_call:begin|>'],
  headEnds: ['<|tool_call:args|>'],
  readHead(head) {
    const [id = '', name] = head.split('<|tool_call:name|>')
    return name === undefined ? undefined : { name: name.trim(), ...(id !== '' && { id: id.trim() }) }
  },
  end: ['<|tool_call:end|>'],
  blockEnd: ['<|calls|>'],
}

/** Solar Open: an id, a name and JSON, each after its tag. */
export const solar: ToolFormat = {
  triggers: () => [
    {
      tag: '<|tool_call:begin|>',
      position: 'anywhere',
      endsReasoning: 'parsed',
      read: readHeadedCalls(solarStyle, { begun: true }),
    },
  ],
  droppedTags: [
    ...['<|begin|>assistant', '<|content|>'].map((tag): DroppedTag => ({ tag, position: 'anywhere', beginsAnswer: true })),
    ...['<|end|>', '<|flush|>'].map((tag): DroppedTag => ({ tag, position: 'anywhere' })),
    ...['<|tool_calls|>', '<|calls|>'].map((tag): DroppedTag => ({ tag, position: 'anywhere', ofCalls: true })),
  ],
  betweenMessages: '<|begin|>assistant',
  visibleTokens: [
    '<|begin|>',
    '<|content|>',
    '<|think|>',
    '<|end|>',
    '<|tool_calls|>',
    '<|calls|>',
    '<|tool_call:begin|>',
    '<|tool_call:name|>',
    '<|tool_call:args|>',
    '<|tool_call:end|>',
  ],
  // The model chooses the ids of its calls; they must be unique.
  describeCalls: (tools, { parallel }) => ({
    prefix: '<|tool_calls|>',
    suffix: '<|calls|>',
    ...(parallel && { separator: '' }),
    calls: tools.map((tool) => ({
      name: tool.name,
      pieces: [
        text('<|tool_call:begin|>call'),
        { type: 'position', first: 10_000 },
        text(`<|tool_call:name|>${tool.name}<|tool_call:args|>`),
        { type: 'json', schema: argumentsSchema(tool) },
        text('<|tool_call:end|>'),
      ],
    })),
  }),
}

/** Functionary 3.2: every part of the answer begins with `>>>` and its recipient; the prompt ends with the first `>>>`. */
export const functionaryV32: ToolFormat = {
  triggers: (tools) => [
    ...tools.map(
      ({ name }): Trigger => ({
        tag: `>>>${name}\n`,
        position: 'anywhere',
        endsReasoning: 'parsed',
        read: readRecipient(name, inMessage),
      }),
    ),
    { tag: '>>>', position: 'anywhere', endsReasoning: 'parsed', read: readNameLine },
    ...nameTriggers(tools, { position: 'start', options: inMessage }),
  ],
  droppedTags: [
    { tag: '>>>all\n', position: 'anywhere' },
    { tag: 'all\n', position: 'start', only: 'first' },
  ],
  visibleTokens: [],
  describeCalls: jsonCalls({ separator: '>>>', before: (name) => `${name}\n` }),
}

function* readNameLine(writer: CallWriter): Reading<boolean> {
  const name = yield* readNameBefore(writer.feed, ['\n', ...inMessage.ends])
  return name !== undefined && (yield* readRecipient(name, inMessage)(writer))
}

/** A message may consist of its recipient alone. */
const inMessage: RecipientOptions = { ends: ['>>>', ...turnEnds] }

/** GLM 4 before 4.5: the name on a line of its own, and JSON. */
export const glm4: ToolFormat = {
  triggers: (tools) => nameTriggers(tools, { position: 'line' }),
  visibleTokens: [],
  describeCalls: jsonCalls({ separator: '\n', before: (name) => `${name}\n` }),
}

/** The names of tools, each on a line of its own. */
function nameTriggers(
  tools: readonly FunctionTool[],
  { position, options }: Pick<Trigger, 'position'> & { readonly options?: RecipientOptions },
): readonly Trigger[] {
  const names = tools.flatMap(({ name }) => spellingsOf(name))
  return names.map((name) => ({ tag: `${name}\n`, position, read: readRecipient(name, options) }))
}

/** Tags that may follow a call without arguments; absent: it has arguments. */
type RecipientOptions = { readonly ends: readonly string[] }

/** A reader for JSON after the name of a tool. */
function readRecipient(name: string, options?: RecipientOptions): CallReader {
  return function* (writer) {
    const { feed } = writer
    const tool = writer.tool(name)
    if (tool === undefined) return false
    if (options !== undefined && (yield* acceptNoArguments(feed, tool, { ...options, atEnd: true }))) {
      writeEmptyCall(writer, tool)
      return true
    }
    yield* space(feed)
    if (!(yield* objectIsNext(feed))) return false
    writer.open(tool)
    yield* readArguments(writer, tool)
    writer.close()
    return true
  }
}

/** ReAct: `Action: NAME` and `Action Input: {…}`, each on a line. */
export const react: ToolFormat = {
  triggers: () => [{ tag: 'Action:', position: 'line', read: readAction }],
  visibleTokens: [],
  describeCalls: jsonCalls({ separator: '\n', before: (name) => `Action: ${name}\nAction Input: ` }),
}

function* readAction(writer: CallWriter): Reading<boolean> {
  const { feed } = writer
  const name = yield* readNameBefore(feed, ['\n', ...turnEnds])
  const tool = name === undefined ? undefined : writer.tool(name)
  if (tool === undefined) return false
  if ((yield* acceptAfterSpace(feed, ['Action Input:'])) === undefined) {
    const isEmpty = yield* acceptNoArguments(feed, tool, { ends: ['Observation:'] })
    if (isEmpty) writeEmptyCall(writer, tool)
    return isEmpty
  }
  const fence = yield* acceptAfterSpace(feed, ['```json', '```', '`'])
  if (yield* acceptNoArguments(feed, tool, { ends: ['Observation:', 'Thought:', 'Action:', '`', ...turnEnds], atEnd: true })) {
    writeEmptyCall(writer, tool)
    if (fence !== undefined) yield* acceptAfterSpace(feed, [fence === '`' ? '`' : '```'])
    return true
  }
  if (!(yield* objectIsNext(feed))) return false
  writer.open(tool)
  yield* readArguments(writer, tool)
  writer.close()
  if (fence !== undefined) yield* acceptAfterSpace(feed, [fence === '`' ? '`' : '```'])
  return true
}
