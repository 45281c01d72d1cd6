import type { FunctionTool, JsonObject } from '../../contract/request.ts'
import { isTextOnly } from '../scan/coerce-bare.ts'
import { allowedTypes, propertyOf } from '../scan/schema-types.ts'
import { accept, acceptAfterSpace, peek, type Reading, space, type TextFeed, until } from '../scan/text-feed.ts'
import { readBlockOf } from './call-block.ts'
import { type CallReader, declaredArguments } from './call-writer.ts'
import { type ArgumentHead, type ElementStyle, readElements } from './elements.ts'
import { text } from './json-calls.ts'
import { hermes } from './json-formats.ts'
import { acceptNoArguments, readNameBefore, writeEmptyCall } from './read-arguments.ts'
import type { CallPiece, RequiredCalls } from './required-calls.ts'
import { argumentPairs, readInlineFunction, readInlineTaggedCall, readPairs } from './tagged-calls.ts'
import type { ToolFormat, Trigger } from './tool-format.ts'
import { turnEnds } from './turn-marks.ts'

const readSeedCall: CallReader = function* (writer) {
  yield* space(writer.feed)
  return yield* readInlineTaggedCall(writer)
}

/** How a required call is written with tags: the text around each argument, and around all of them. */
type ElementSpelling = {
  readonly prefix: string
  readonly suffix: string
  readonly separator: string
  begin(name: string): string
  before(key: string, isText: boolean): string
  after(key: string): string
  readonly end: string
}

/** Qwen 3 Coder, Qwen 3.5, Step 3.5, Nemotron 3: `<tool_call><function=…><parameter=…>…`. */
export const qwen3Coder: ToolFormat = {
  triggers: hermes.triggers,
  visibleTokens: ['<tool_call>', '</tool_call>'],
  describeCalls: elementCalls({
    prefix: '<tool_call>\n',
    separator: '\n</tool_call>\n<tool_call>\n',
    suffix: '\n</tool_call>',
    begin: (name) => `<function=${name}>\n`,
    before: (key) => `<parameter=${key}>\n`,
    after: () => '\n</parameter>\n',
    end: '</function>',
  }),
}

/** Seed OSS: like Qwen 3 Coder, with a wrapper of its own. */
export const seedOss: ToolFormat = {
  triggers: () => [
    { tag: '<seed:tool_call>', position: 'anywhere', endsReasoning: 'parsed', read: readSeedCall },
    { tag: '<function', position: 'anywhere', read: readInlineFunction },
  ],
  visibleTokens: ['<seed:tool_call>', '</seed:tool_call>'],
  describeCalls: elementCalls({
    prefix: '<seed:tool_call>\n',
    separator: '\n</seed:tool_call>\n<seed:tool_call>\n',
    suffix: '\n</seed:tool_call>',
    begin: (name) => `<function=${name}>\n`,
    before: (key) => `<parameter=${key}>`,
    after: () => '</parameter>\n',
    end: '</function>',
  }),
}

/** MiniCPM 5: `<function name="…"><param name="…">…`, without a wrapper. */
export const minicpm: ToolFormat = {
  triggers: hermes.triggers,
  visibleTokens: ['<function', '</function>', '<param', '</param>'],
  describeCalls: elementCalls({
    prefix: '',
    separator: '\n',
    suffix: '',
    begin: (name) => `<function name="${name}">`,
    before: (key) => `<param name="${key}">`,
    after: () => '</param>',
    end: '</function>',
  }),
}

/** GLM 4.5 and later, Spark, Ling 3: `<tool_call>NAME<arg_key>…</arg_key><arg_value>…</arg_value>`. */
export const glm: ToolFormat = {
  triggers: hermes.triggers,
  visibleTokens: ['<tool_call>', '</tool_call>', '<arg_key>', '</arg_key>', '<arg_value>', '</arg_value>'],
  describeCalls: elementCalls({
    prefix: '<tool_call>',
    separator: '\n</tool_call>\n<tool_call>',
    suffix: '\n</tool_call>',
    begin: (name) => name,
    before: (key) => `\n<arg_key>${key}</arg_key>\n<arg_value>`,
    after: () => '</arg_value>',
    end: '',
  }),
}

/** Laguna: GLM's calls; it also writes them as JSON, on a line of its own. */
export const laguna: ToolFormat = {
  ...glm,
  triggers: () => hermes.triggers([]).map((trigger) => (trigger.tag === '{' ? { ...trigger, position: 'line' } : trigger)),
}

/** Hunyuan 3: GLM's pairs in a block, with a suffix in every tag. */
export const hunyuan: ToolFormat = hunyuanCalls(':opensource')

/** The preview of Hunyuan 3: without the suffix. */
export const hunyuanPreview: ToolFormat = hunyuanCalls('')

function hunyuanCalls(suffix: string): ToolFormat {
  const style = argumentPairs({ suffix })
  const [block, call, separator] = [`<tool_calls${suffix}>`, `<tool_call${suffix}>`, `<tool_sep${suffix}>`]
  const [blockEnd, callEnd] = [`</tool_calls${suffix}>`, `</tool_call${suffix}>`]
  const readCall: CallReader = function* (writer) {
    const { feed } = writer
    const name = yield* readNameBefore(feed, [separator, callEnd, call, blockEnd, ...turnEnds])
    if (name === undefined) return false
    yield* accept(feed, separator)
    return yield* readPairs(writer, { name: name.trim(), style })
  }
  return {
    triggers: () => [
      {
        tag: block,
        position: 'anywhere',
        endsReasoning: 'parsed',
        read: readBlockOf({ begin: call, end: [blockEnd], read: readCall }),
      },
      { tag: call, position: 'anywhere', endsReasoning: 'parsed', read: readCall },
    ],
    visibleTokens: ['tool_calls', 'tool_call', 'tool_sep', 'arg_key', 'arg_value'].flatMap((name) => [
      `<${name}${suffix}>`,
      `</${name}${suffix}>`,
    ]),
    describeCalls: elementCalls({
      prefix: `${block}\n`,
      separator: '\n',
      suffix: `\n${blockEnd}`,
      begin: (name) => `${call}${name}${separator}`,
      before: (key) => `\n<arg_key${suffix}>${key}</arg_key${suffix}>\n<arg_value${suffix}>`,
      after: () => `</arg_value${suffix}>`,
      end: `\n${callEnd}`,
    }),
  }
}

/** Calls as `<invoke name="…"><parameter name="…">…`, in a block. In some formats every tag has a `namespace`. */
export function invocations(options: {
  readonly blocks: readonly string[]
  readonly namespace: string
  /** Tags that may follow a call, apart from another call and the end of the block. */
  readonly ends?: readonly string[]
  /** Each argument states whether it is text. */
  readonly typed?: boolean
}): ToolFormat & { readonly read: CallReader; readonly readInvoke: CallReader } {
  const { blocks, namespace, ends = [], typed = false } = options
  const style: ElementStyle = {
    head: `<${namespace}parameter`,
    readHead: readAttributes,
    valueEnd: `</${namespace}parameter>`,
    callEnds: [`</${namespace}invoke>`],
    wrapperEnds: [...blocks.map((block) => `</${block}>`), `<${namespace}invoke`, ...ends],
  }
  const readInvoke: CallReader = function* (writer) {
    const { feed } = writer
    const head = yield* readAttributes(feed)
    const tool = head && writer.tool(head.key)
    if (tool === undefined) return false
    if (yield* acceptNoArguments(feed, tool, { ends: [...style.callEnds, ...style.wrapperEnds, ...turnEnds] })) {
      writeEmptyCall(writer, tool)
      yield* acceptAfterSpace(feed, style.callEnds)
      return true
    }
    if ((yield* peek(feed)) === '' && !feed.truncated) return writer.unfinished()
    writer.open(tool)
    yield* readElements(writer, tool, style)
    return true
  }
  const readBlock = readBlockOf({
    begin: `<${namespace}invoke`,
    end: blocks.map((each) => `</${each}>`),
    read: readInvoke,
  })
  const [block = ''] = blocks
  return {
    read: readBlock,
    readInvoke,
    triggers: () => [
      ...blocks.map((each): Trigger => ({ tag: `<${each}>`, position: 'anywhere', endsReasoning: 'parsed', read: readBlock })),
      { tag: `<${namespace}invoke`, position: 'anywhere', endsReasoning: 'parsed', read: readInvoke },
    ],
    visibleTokens: blocks.flatMap((each) => [`<${each}>`, `</${each}>`]),
    describeCalls: elementCalls({
      prefix: `<${block}>\n`,
      separator: '\n',
      suffix: `\n</${block}>`,
      begin: (toolName) => `<${namespace}invoke name="${toolName}">\n`,
      before: (key, isText) => `<${namespace}parameter name="${key}"${typed ? ` string="${isText}"` : ''}>`,
      after: () => `</${namespace}parameter>\n`,
      end: `</${namespace}invoke>`,
    }),
  }
}

/** MiniMax M2. */
export const minimaxM2: ToolFormat = invocations({ blocks: ['minimax:tool_call'], namespace: '' })

/** DeepSeek V3.2 and V4. If their special tokens are lost, they write ordinary pipes. */
export const deepseekDsml: ToolFormat = {
  ...dsml('｜'),
  triggers: (tools) => [...dsml('｜').triggers(tools), ...dsml('|').triggers(tools)],
}

function dsml(pipe: string): ToolFormat {
  const namespace = `${pipe}DSML${pipe}`
  const own = invocations({ blocks: [`${namespace}tool_calls`, `${namespace}function_calls`], namespace, typed: true })
  /** A block under another name. */
  const readBlock: CallReader = function* (writer) {
    const { feed } = writer
    const name = yield* until(feed, ['>'], 32)
    if (name === undefined || !/^\w+$/.test(name)) return false
    feed.at += 1
    const end = [`</${namespace}${name}>`]
    return yield* readBlockOf({ begin: `<${namespace}invoke`, end, read: own.readInvoke })(writer)
  }
  return {
    ...own,
    triggers: (tools) => [
      ...own.triggers(tools),
      { tag: `<${namespace}`, position: 'anywhere', endsReasoning: 'parsed', read: readBlock },
    ],
  }
}

/** The body of a call message of Glimmer. */
export const atemCalls = invocations({ blocks: ['atem:function_calls'], namespace: 'atem:' })

/** Reads ` name="NAME" …>`, after the name of the tag. */
function* readAttributes(feed: TextFeed): Reading<ArgumentHead | undefined> {
  const rest = yield* until(feed, ['>'], 512)
  if (rest === undefined) return undefined
  feed.at += 1
  const key = /\sname\s*=\s*"([^"]*)"/.exec(rest)?.[1] ?? /\sname\s*=\s*'([^']*)'/.exec(rest)?.[1]
  if (key === undefined) return undefined
  const string = /\sstring\s*=\s*"(true|false)"/.exec(rest)?.[1]
  return { key, ...(string !== undefined && { typed: string === 'true' ? 'text' : 'json' }) }
}

/** Required calls whose arguments are between tags: strings without quotes, everything else as JSON. */
export function elementCalls(spelling: ElementSpelling): ToolFormat['describeCalls'] {
  return (tools, { parallel }): RequiredCalls => ({
    prefix: spelling.prefix,
    suffix: spelling.suffix,
    ...(parallel && { separator: spelling.separator }),
    calls: tools.map((tool) => ({
      name: tool.name,
      pieces: elementPieces(tool, spelling),
      unenforced: unenforcedKeywords(tool),
    })),
  })
}

function elementPieces(tool: FunctionTool, { begin, before, after, end }: ElementSpelling): readonly CallPiece[] {
  const declared = declaredArguments(tool)
  const { properties = {}, required = [] } = parametersOf(tool)
  const keys = [...new Set([...Object.keys(properties), ...required])]
  return [
    text(begin(tool.name)),
    ...keys.flatMap((key): readonly CallPiece[] => {
      const property = propertyOf(declared, key)
      const isText = isTextOnly(property)
      const placed = { schema: (properties[key] ?? {}) as JsonObject, ...(tool.parameters && { document: tool.parameters }) }
      // Quotes around a value that may be a string would be read as part of it.
      const value: CallPiece = allowedTypes(property)?.has('string')
        ? { type: 'raw-text', ...placed, before: after(key).trim() }
        : { type: 'json', ...placed }
      const pieces = [text(before(key, isText)), value, text(after(key))]
      return required.includes(key) ? pieces : [{ type: 'optional', pieces }]
    }),
    text(end),
  ]
}

/** Keywords that relate several arguments: a grammar writes each argument independently of the others. */
const relatingKeywords = [
  'allOf',
  'anyOf',
  'dependencies',
  'dependentRequired',
  'dependentSchemas',
  'else',
  'if',
  'maxProperties',
  'minProperties',
  'not',
  'oneOf',
  'then',
]

function unenforcedKeywords(tool: FunctionTool): readonly string[] {
  const parameters: JsonObject = parametersOf(tool)
  return relatingKeywords.filter((keyword) => parameters[keyword] !== undefined)
}

type Parameters = JsonObject & { readonly properties?: JsonObject; readonly required?: readonly string[] }

/** The schema of the arguments; a reference to it is resolved. */
function parametersOf({ parameters = {} }: FunctionTool): Parameters {
  const { $ref } = parameters
  if (typeof $ref !== 'string' || !$ref.startsWith('#/')) return parameters
  let target: unknown = parameters
  for (const step of $ref.slice(2).split('/')) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~')
    target = typeof target === 'object' && target !== null && Object.hasOwn(target, key) ? (target as JsonObject)[key] : undefined
  }
  return typeof target === 'object' && target !== null ? (target as Parameters) : parameters
}
