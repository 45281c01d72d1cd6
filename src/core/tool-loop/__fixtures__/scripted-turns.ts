import { type ContextOptions, contextOf } from '../../../../test/support/http/context.ts'
import { text } from '../../../../test/support/parts.ts'
import { shortUsage, stubEngine } from '../../../../test/support/upstream/stub-engine.ts'
import { inTurn } from '../../../base/emit.ts'
import type { EngineEvent, GenerationEvent } from '../../../contract/event.ts'
import type { MediaReader } from '../../../contract/media.ts'
import { type GenerationRequest, type Message, plainChat, plainRequest, type ToolUse } from '../../../contract/request.ts'
import type { ServerTool, ToolBox, ToolOutcome, ToolRun } from '../../../contract/server-tool.ts'
import { answer } from '../answer.ts'
import type { AnswerDeps, ToolCallRecord } from '../deps.ts'
import type { ToolApprovals } from '../tool-approvals.ts'

export type Events = readonly EngineEvent[]
/** What the model does in one turn. */
export type ScriptedTurn = Events | readonly Error[] | ((signal: AbortSignal) => Promise<never>)

export const user = (words: string): Message => ({ role: 'user', content: [text(words)] })

export const says = (words: string, reason: 'stop' | 'length' = 'stop'): Events => [
  { type: 'text-delta', choice: 0, delta: words },
  { type: 'finish', choice: 0, reason },
  shortUsage,
]

/** What a model writes whose engine does not read it. */
export const writes = (raw: string): Events => [
  { type: 'raw-text', choice: 0, text: raw },
  { type: 'finish', choice: 0, reason: 'stop' },
  shortUsage,
]

export const call = (name: string, input: unknown, id = `${name}-1`): EngineEvent[] => [
  { type: 'tool-call-start', choice: 0, id, name },
  { type: 'tool-call-delta', choice: 0, id, delta: typeof input === 'string' ? input : JSON.stringify(input) },
  { type: 'tool-call-end', choice: 0, id },
]

export const calls = (...events: Events): Events => [...events, { type: 'finish', choice: 0, reason: 'tool-calls' }, shortUsage]

export const search = (input: unknown, id?: string): Events => calls(...call('web_search', input, id))

export type Tools = Readonly<Record<string, Partial<ServerTool> | ((run: ToolRun) => Promise<ToolOutcome>)>>

export const found: ToolOutcome = { text: 'Paris is in France.', isError: false }

export type Setup = {
  readonly turns: readonly ScriptedTurn[]
  readonly use?: Partial<ToolUse>
  readonly tools?: Tools
  readonly box?: ToolBox
  readonly messages?: readonly Message[]
  readonly asked?: Partial<GenerationRequest>
  readonly declared?: readonly { readonly name: string }[]
  readonly approvals?: ToolApprovals
  readonly admitsToolCall?: NonNullable<AnswerDeps['admitsToolCall']>
  readonly context?: ContextOptions
  /** In which the engine leaves calls in its text. */
  readonly toolFormat?: string
  /** The model reads pictures. */
  readonly sees?: boolean
  readonly media?: MediaReader
}

export function boxOf(tools: Tools): ToolBox {
  const made = Object.entries(tools).map(([name, fields]): ServerTool => {
    const tool = { name, kind: 'web-search' as const, description: `The tool ${name}.`, parameters: {}, run: async () => found }
    return { ...tool, ...(typeof fields === 'function' ? { run: fields } : fields) }
  })
  return { list: async () => ({ tools: made, absent: [] }), close: async () => undefined, namesFor: () => undefined }
}

export function start({ turns, use, tools = { web_search: {} }, box, messages = [user('Where is Paris?')], ...rest }: Setup) {
  const requests: GenerationRequest[] = []
  const records: ToolCallRecord[] = []
  const events: GenerationEvent[] = []
  const { sees: image = false } = rest
  const engine = stubEngine({
    facts: { modalities: { image, audio: false } },
    prepare: async (request) => {
      const turn = turns[requests.push(request) - 1]
      if (turn === undefined) throw new Error('the script has no more turns')
      const [first] = typeof turn === 'function' ? [] : turn
      if (first instanceof Error) throw first
      return {
        ...(rest.toolFormat !== undefined && { outputFormat: { toolFormat: rest.toolFormat, startsInReasoning: false } }),
        run: async (signal, emit) => {
          if (typeof turn === 'function') await turn(signal)
          else await inTurn(turn as readonly EngineEvent[], emit)
        },
      }
    },
  })
  const toolUse: ToolUse = { maxTurns: 25, heals: true, approves: 'marked', asks: 'with-event', ...use }
  const prompt = { type: 'chat', ...plainChat, messages, tools: rest.declared ?? [] } as const
  const request: GenerationRequest = { ...plainRequest, id: 'r', model: 'm', prompt, toolUse, ...rest.asked }
  const deps: AnswerDeps = {
    now: () => performance.now(),
    wallClock: () => Date.UTC(2026, 10, 27),
    tools: box ?? boxOf(tools),
    onToolCall: (record) => void records.push(record),
    ...(rest.approvals !== undefined && { approvals: rest.approvals }),
    ...(rest.media !== undefined && { media: rest.media }),
    ...(rest.admitsToolCall !== undefined && { admitsToolCall: rest.admitsToolCall }),
  }
  const generation = answer(deps, [request], contextOf(engine, rest.context))
  const run = () =>
    generation.run((event) => {
      events.push(event)
      return undefined
    })
  return { run, requests, records, events, generation }
}

/** The names of events, with what they are about. */
export const linesOf = (events: readonly GenerationEvent[]) =>
  events.flatMap((event) => {
    if (event.type === 'text-delta') return [`text ${event.delta}`]
    if (event.type === 'server-tool-start')
      return [`start ${event.call.id} ${event.call.name} ${JSON.stringify(event.call.arguments)}`]
    if (event.type === 'server-tool-end') return [`end ${event.id} ${event.outcome.text}`]
    if (event.type === 'approval-request') return [`approval ${event.call.id}`]
    if (event.type === 'finish') return [`finish ${event.reason}`]
    return event.type.startsWith('tool-call') ? [event.type] : []
  })

export const messagesOf = (request: GenerationRequest | undefined) =>
  request?.prompt.type === 'chat'
    ? request.prompt.messages.map((message) =>
        message.role === 'assistant'
          ? message.parts.map((part) =>
              part.type === 'tool-call' ? `call ${part.id} ${part.input}` : 'text' in part ? part.text : '',
            )
          : `${message.role}: ${message.content.map((part) => (part.type === 'text' ? part.text : '')).join('')}`,
      )
    : []

export const toolsOf = (request: GenerationRequest | undefined) =>
  request?.prompt.type === 'chat' ? request.prompt.tools.map(({ name }) => name) : []
