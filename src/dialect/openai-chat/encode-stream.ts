import type { StreamEncoder } from '../../contract/dialect.ts'
import type { GeneratedToken, GenerationEvent, StartEvent } from '../../contract/event.ts'
import { ChunkTemplate } from '../openai/chunk-template.ts'
import type { ReplyHead } from '../openai/reply-head.ts'
import { withProgress } from '../openai/times/running-fields.ts'
import { ToolFrames } from '../openai/tool-frames.ts'
import { toFrameJson } from '../wire/json/frame-json.ts'
import { encodeStream } from '../wire/stream/encode-stream.ts'
import { encodeAnnotation, encodeFinishReason, encodeLogprobs, type ReplyStyle, reasoningNames } from './encode.ts'
import type { ChatDelta, ChatFinishReason } from './replies.ts'

type ChunkStyle = ReplyStyle & { readonly includeUsage: boolean }
type CallDelta = NonNullable<ChatDelta['tool_calls']>[number]
type CallHead = { readonly id: string; readonly kind: 'custom' | undefined }

/** Encodes events as `chat.completion.chunk` frames. */
export function createChunkEncoder(headOf: (start: StartEvent) => ReplyHead, style: ChunkStyle): StreamEncoder {
  const { legacyCalls } = style
  const template = new ChunkTemplate('chat.completion.chunk', style.includeUsage)
  const chunks = new Chunks(template, style)
  const calls: CallHead[][] = []
  /** Separates texts before and after a call of a server tool. */
  let hasText = false
  let needsBreak = false

  function callsOf(choice: number): CallHead[] {
    calls[choice] ??= []
    return calls[choice]
  }

  const encoder = encodeStream(
    {
      start: (event) => {
        template.start(headOf(event))
        if (event.reasons === true) chunks.showNoReasoning()
      },
      'text-delta': ({ choice, delta }) => {
        hasText = true
        const lead = needsBreak && delta !== '' ? '\n\n' : ''
        if (lead !== '') needsBreak = false
        return chunks.chunk(choice, 'content', lead + delta)
      },
      'reasoning-start': ({ choice }) => {
        chunks.showNoReasoning()
        return chunks.start(choice)
      },
      'reasoning-delta': ({ choice, delta }) => chunks.reasoning(choice, delta),
      'refusal-delta': ({ choice, delta }) => chunks.chunk(choice, 'refusal', delta),
      annotation: ({ choice, annotation }) => {
        const annotations = encodeAnnotation(annotation)
        return annotations.length === 0 ? chunks.start(choice) : chunks.chunk(choice, 'annotations', annotations)
      },
      'tool-call-start': ({ choice, id, name, kind }) => {
        const index = callsOf(choice).push({ id, kind }) - 1
        if (legacyCalls) return chunks.chunk(choice, 'function_call', { name, arguments: '' })
        // As OpenAI sends custom calls; its description of chunks has only functions (openai/openai-openapi issue 576).
        const call: CallDelta =
          kind === 'custom'
            ? { index, id, type: 'custom', custom: { name, input: '' } }
            : { index, id, type: 'function', function: { name, arguments: '' } }
        return chunks.chunk(choice, 'tool_calls', [call])
      },
      'tool-call-delta': ({ choice, id, delta }) => {
        if (legacyCalls) return chunks.chunk(choice, 'function_call', { arguments: delta })
        // The last one, in case an upstream gives two calls the same id.
        const index = callsOf(choice).findLastIndex((call) => call.id === id)
        const isCustom = callsOf(choice)[index]?.kind === 'custom'
        const call: CallDelta = isCustom ? { index, custom: { input: delta } } : { index, function: { arguments: delta } }
        return chunks.chunk(choice, 'tool_calls', [call])
      },
      'tool-call-end': ({ choice }) => chunks.start(choice),
      'server-tool-start': ({ choice }) => {
        needsBreak = hasText
        return chunks.start(choice)
      },
      'prompt-progress': (event) => withProgress(chunks.empty(0), event),
      finish: ({ choice, reason, stopSequence }) => chunks.empty(choice, encodeFinishReason(reason, legacyCalls), stopSequence),
      usage: (event) => template.usage(event, style.usageTimes),
      error: ({ error }) => template.error(error),
    },
    // There is always a first choice; its chunk shows the client that the model has started.
    (event) => chunks.start('choice' in event ? event.choice : 0),
  )

  const tools = style.showsTools === true ? new ToolFrames() : undefined
  return {
    encode: (event) => {
      if (style.logprobs) chunks.keepTokens(event)
      const frames = encoder.encode(event)
      return tools === undefined ? frames : frames + tools.encode(event)
    },
  }
}

/** The chunks of a stream; what stands before a choice's delta is made once. */
class Chunks {
  readonly #template: ChunkTemplate
  readonly #plainEnd: string
  readonly #reasoningNames: readonly (keyof ChatDelta)[]
  /** The empty reasoning fields of other deltas, for a model that reasons. */
  #noReasoning = ''
  readonly #heads: string[] = []
  readonly #started: boolean[] = []
  /** Unsent tokens of each choice: those of tags and of held-back text go with the next chunk. */
  readonly #unsent: (GeneratedToken[] | undefined)[] = []

  constructor(template: ChunkTemplate, { reasoningFields }: ChunkStyle) {
    this.#template = template
    this.#plainEnd = `},"logprobs":null,"finish_reason":null}${template.closing}`
    this.#reasoningNames = reasoningNames[reasoningFields]
  }

  showNoReasoning(): void {
    this.#noReasoning = this.#reasoningNames.map((name) => `,"${name}":null`).join('')
  }

  keepTokens(event: GenerationEvent): void {
    if (!('tokens' in event) || event.tokens === undefined || event.tokens.length === 0) return
    const before = this.#unsent[event.choice]
    if (before === undefined) this.#unsent[event.choice] = [...event.tokens]
    else for (const token of event.tokens) before.push(token)
  }

  /** The role chunk, at a choice's first event only. */
  start(choice: number): string {
    if (this.#started[choice] === true) return ''
    this.#started[choice] = true
    return `${this.#headOf(choice)}"role":"assistant","content":""${this.#noReasoning}${this.#plainEnd}`
  }

  chunk<Name extends keyof ChatDelta>(choice: number, name: Name, value: ChatDelta[Name]): string {
    const delta = `"${name}":${toFrameJson(value)}`
    return this.start(choice) + this.#headOf(choice) + delta + this.#noReasoning + this.#endOf(choice, null)
  }

  reasoning(choice: number, text: string): string {
    if (this.#reasoningNames.length === 0) return this.start(choice)
    this.showNoReasoning()
    const delta = toFrameJson(text)
    const said = this.#reasoningNames.map((name) => `"${name}":${delta}`).join(',')
    return this.start(choice) + this.#headOf(choice) + said + this.#endOf(choice, null)
  }

  /** A chunk without a text: the last one of a choice has a reason. */
  empty(choice: number, finishReason: ChatFinishReason | null = null, stopSequence?: string): string {
    const head = this.start(choice) + this.#headOf(choice)
    return head + this.#noReasoning.slice(1) + this.#endOf(choice, finishReason, stopSequence)
  }

  /** The text before a choice's delta, including the delta's opening brace. */
  #headOf(choice: number): string {
    this.#heads[choice] ??= `${this.#template.opening}{"index":${choice},"delta":{`
    return this.#heads[choice]
  }

  /** The text after a choice's delta. */
  #endOf(choice: number, finishReason: ChatFinishReason | null, stopSequence?: string): string {
    const tokens = this.#unsent[choice]
    if (tokens === undefined && finishReason === null) return this.#plainEnd
    this.#unsent[choice] = undefined
    const logprobs = tokens === undefined ? 'null' : toFrameJson(encodeLogprobs(tokens))
    const finish = finishReason === null ? 'null' : `"${finishReason}"`
    const stop = stopSequence === undefined ? '' : `,"stop_reason":${toFrameJson(stopSequence)}`
    return `},"logprobs":${logprobs},"finish_reason":${finish}${stop}}${this.#template.closing}`
  }
}
