import { LruMap } from '../../base/lru-map.ts'
import { callableTools } from '../../canonical/callable-tools.ts'
import { hasMedia, isContinued } from '../../canonical/parts.ts'
import type { EngineFacts, RenderRequest } from '../../contract/engine.ts'
import { AppError } from '../../contract/errors.ts'
import type { FormatSettings, OutputFormat } from '../../contract/output-format.ts'
import type { FunctionTool, GenerationRequest, OutputPart } from '../../contract/request.ts'
import { turnEnds, turnHeaders } from '../../model-text/formats/turn-marks.ts'
import { type ModelFormat, recogniseFormat, requestFormat } from '../../model-text/model-format.ts'
import type { TemplateTokens } from '../../model-text/template/chat-template.ts'
import { PromptRenderer, type WrittenPrompt } from '../../threads/prompt-renderer.ts'
import { refuseMedia } from '../shared/refuse-media.ts'
import { templateOf } from '../shared/template-choice.ts'
import type { SentRequest } from './servers/check-upstream.ts'
import type { SpecialTokens } from './servers/special-tokens.ts'
import type { Upstream } from './servers/upstream.ts'
import { UpstreamError } from './transport/upstream-error.ts'
import { endsInCall, sharedStart, textOfUnfinished } from './wire/body/unfinished-call.ts'

/** A model's chat template, and the facts in its tokenizer's configuration. */
export type OwnTemplate = TemplateTokens & {
  readonly source: string
  /** Its name. Absent: it is the model's own template. */
  readonly name?: string
  /** The tokenizer puts the BOS token before a text. */
  readonly addsBos?: boolean
  /** Texts of special tokens. */
  readonly specialTexts?: readonly string[]
}

type Options = FormatSettings & {
  readonly id: string
  /** Reads the model's template. Absent or undefined: the template that the server reports. */
  readonly readTemplate: (() => Promise<OwnTemplate | undefined>) | undefined
  /** The special tokens of the template that the server reports. */
  reportedTokens?(): SpecialTokens | undefined
  /** Whether the servers put the BOS token before a prompt. Absent: as the tokenizer does, or else yes. */
  readonly addsBos: boolean | undefined
}

/** A conversation to render. `endsThought`: the output must not begin inside a thought. */
export type OwnRequest = RenderRequest & { readonly endsThought?: boolean } & Partial<
    Pick<GenerationRequest, 'id' | 'logprobs' | 'output'>
  >

/** A conversation as text for `/completions`. */
export type OwnPrompt = {
  readonly text: string
  /** The template that it was rendered with. */
  readonly template: string
  readonly outputFormat: OutputFormat | undefined
  /** Texts that end the model's turn, to be sent as stop sequences. */
  readonly turnEnds: readonly string[]
  /** Texts of special tokens that the output is parsed by. */
  readonly specialTexts: readonly string[]
}

/** `outputFormat`: of the rest. `written`: what the model wrote so far, if that ends inside of a call. */
type ContinuedText = { readonly request: SentRequest; readonly written?: string } & Partial<Pick<OwnPrompt, 'outputFormat'>>

/** OpenAI's limit of stop sequences. */
const maxStops = 4
/** Tags of special tokens, as templates spell them. */
const specialTag = /<[|｜][^<>\s]{1,64}[|｜]>|<(?:start|end)_of_[a-z]+>|\[\/?INST\]|<<\/?SYS>>|<\/?s>/g

/** Throws `unsupported-field` for media, which a text cannot hold. */
export function refuseAsText(request: Pick<GenerationRequest, 'prompt'>, model: string): void {
  refuseMedia(
    request,
    () => false,
    (kind) => `model '${model}' gets its conversations as text, and reads no ${kind}: leave the part out`,
  )
}

/** A request with the text of its conversation. */
export function sentAsText(request: GenerationRequest, { text, turnEnds: ends, specialTexts }: OwnPrompt): SentRequest {
  return { ...request, prompt: { type: 'text', text }, turnEnds: ends, specialTexts }
}

/** llama-server's message if its parser cannot read the model's output. */
const unreadOutput = /does not match the expected \S+ format/
/** llama-server's message if its grammar compiler does not support a tool's schema. */
const refusedSchema = /JSON schema error at/

/** Classifies the failure of a server that renders and parses itself: at the request, at the output, or neither. */
function failureAtForm(error: unknown): 'request' | 'output' | undefined {
  // A reply that had begun was to be continued first.
  const reason = error instanceof AppError ? error.cause : error
  if (!(reason instanceof UpstreamError) || reason.failure.type !== 'status') return undefined
  if (unreadOutput.test(reason.message)) return 'output'
  return reason.failure.code === 'template_failed' || refusedSchema.test(reason.message) ? 'request' : undefined
}

/** Renders conversations for servers that accept only text, and repairs those that other servers render. */
export class OwnPrompts {
  readonly #options: Options
  readonly #renderer = new PromptRenderer()
  /** Cached, because parsers cache by the format object. */
  readonly #formats = new Map<string, OutputFormat | undefined>()
  /** By request id. */
  readonly #sentAsText = new LruMap<string, object>({ max: 1000 })
  /** A server could not parse an output of this model, with tools or without. */
  readonly #unread = { withTools: false, withoutTools: false }
  #template: Promise<OwnTemplate | undefined> | undefined
  #hasRead = false
  #known: OwnTemplate | undefined

  constructor(options: Options) {
    this.#options = options
  }

  /**
   * Whether the error means that a server could not render this request or parse its reply, so that it should be sent as text: the next
   * `isSentAsText` of it is true. After an output that the server could not parse, similar requests are sent as text too: a server may
   * notice only after a part of the output has reached the client, and then not every reply can be continued.
   */
  learnsFrom({ id, prompt }: Pick<GenerationRequest, 'id' | 'prompt'>, reported: string | undefined, error: unknown): boolean {
    const failure = failureAtForm(error)
    if (prompt.type !== 'chat' || !this.canWrite({ prompt }, reported) || failure === undefined) return false
    this.#sentAsText.set(id, {})
    if (failure === 'output') this.#unread[likeOf(prompt)] = true
    return true
  }

  isSentAsText({ id, prompt }: Pick<OwnRequest, 'id' | 'prompt'>): boolean {
    if (id !== undefined && this.#sentAsText.get(id) !== undefined) return true
    return this.#unread[likeOf(prompt)] && !hasMedia(prompt)
  }

  /** The model's template has been read, or is not needed. */
  get isRead(): boolean {
    return this.#options.readTemplate === undefined || this.#hasRead
  }

  /** The template in use, once it was read. If the server reports the template, the server's facts have it. */
  get facts(): Pick<EngineFacts, 'chatTemplate' | 'chatTemplateName'> {
    if (this.#known === undefined) return {}
    const { source, name } = this.#known
    return { chatTemplate: source, ...(name !== undefined && { chatTemplateName: name }) }
  }

  /** As `write`. Undefined if the template is unknown, or refuses the conversation. */
  async tryWrite(request: OwnRequest, reported: string | undefined, signal: AbortSignal): Promise<OwnPrompt | undefined> {
    return this.write(request, reported, signal).catch((error: unknown) => {
      if (error instanceof AppError && error.code === 'template-failed') return undefined
      throw error
    })
  }

  /** Rejects with `model-unavailable` if the model's template cannot be read; the next call reads it again. */
  async ensureRead(): Promise<OwnTemplate | undefined> {
    const { readTemplate } = this.#options
    if (readTemplate === undefined) return undefined
    this.#template ??= readTemplate()
    try {
      const template = await this.#template
      this.#hasRead = true
      this.#known = template
      return template
    } catch (error) {
      this.#template = undefined
      throw error
    }
  }

  /** `reported`: the server's own template. Rejects with `template-failed`, even if there is no template, and for media. */
  async write(request: OwnRequest, reported: string | undefined, signal: AbortSignal): Promise<OwnPrompt> {
    const { id, addsBos } = this.#options
    const template = await this.#templateFor(request, reported)
    if (template === undefined) throw noTemplate(id)
    refuseAsText(request, id)
    const { bos } = template
    const prompt = withCallableTools(request)
    const format = recogniseFormat(template.source, this.#options)
    const written = await this.#renderer.render(rendering({ ...request, prompt }, template, format), signal)
    const { text, startsInReasoning } = request.endsThought === true ? withoutThought(written, format) : written
    const key = JSON.stringify([format, startsInReasoning, prompt.toolFormat])
    if (!this.#formats.has(key)) this.#formats.set(key, requestFormat(format, prompt, startsInReasoning))
    return {
      template: template.source,
      text: withOneBos(text, { bos, serverAdds: addsBos ?? template.addsBos ?? true, tokenizerAdds: template.addsBos === true }),
      outputFormat: this.#formats.get(key),
      turnEnds: turnEndsOf(template, format.turnEnds ?? []),
      specialTexts: specialTextsOf(template),
    }
  }

  /** Whether a conversation can be written here. */
  canWrite({ prompt }: Pick<GenerationRequest, 'prompt'>, reported: string | undefined): boolean {
    return prompt.type === 'chat' && !hasMedia(prompt) && (reported !== undefined || this.#known !== undefined)
  }

  /** A request that continues a reply, as text; unchanged where it is one. Rejects with `template-failed` where the text isn't known. */
  async continuedAsText(request: GenerationRequest, reported: string | undefined, signal: AbortSignal): Promise<ContinuedText> {
    const { prompt } = request
    if (prompt.type !== 'chat') return { request }
    const write = (given: typeof prompt) => this.write({ ...request, prompt: given }, reported, signal)
    if (!endsInCall(prompt)) {
      const own = await write(prompt)
      return { request: sentAsText(request, own), outputFormat: own.outputFormat }
    }
    const text = await textOfUnfinished(prompt, (given) => write(given).then((own) => own.text))
    if (text === undefined) throw new AppError('template-failed', 'what the model wrote of a call is not known')
    const before = await write({ ...prompt, messages: prompt.messages.slice(0, -1), start: 'new-turn' })
    const { outputFormat: format } = before
    const at = sharedStart(before.text, text).length
    // The turn may not begin as the template begins one to be written.
    const outputFormat = at === before.text.length || format === undefined ? format : { ...format, startsInReasoning: false }
    return { request: sentAsText(request, { ...before, text }), outputFormat, written: text.slice(at) }
  }

  /**
   * The conversation in a form that the server's template renders; unchanged if the template refuses every form. Undefined if there is
   * nothing to repair, or the template is unknown.
   */
  heal(request: RenderRequest, reported: string | undefined, signal: AbortSignal): Promise<RenderRequest['prompt']> | undefined {
    const isUnknown = reported === undefined && this.#options.readTemplate === undefined
    return isUnknown || isPlain(request.prompt) ? undefined : this.#heal(request, reported, signal)
  }

  async #heal(request: RenderRequest, reported: string | undefined, signal: AbortSignal): Promise<RenderRequest['prompt']> {
    const template = await this.#templateFor(request, reported)
    if (template === undefined) return request.prompt
    const format = recogniseFormat(template.source, this.#options)
    try {
      return await this.#renderer.heal(rendering(request, template, format), signal)
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof AppError && error.code === 'template-failed') return request.prompt
      throw error
    }
  }

  async #templateFor({ prompt }: Pick<RenderRequest, 'prompt'>, reported: string | undefined): Promise<OwnTemplate | undefined> {
    const tokens = this.#options.reportedTokens?.()
    const own = (await this.ensureRead()) ?? (reported === undefined ? undefined : { ...tokens, source: reported })
    const named = templateOf(prompt)
    return named?.type === 'named' ? { ...own, source: named.source } : own
  }

  async close(): Promise<void> {
    await this.#renderer.close()
  }
}

/**
 * Whether the servers would lose a part of the output if they parsed it themselves: some of the log-probabilities (beside tools they refuse
 * them), or the thought or call that a turn to be continued has begun. Required calls, and those beside a structure, need their grammar.
 */
export function losesOutput(
  { prompt, logprobs, toolChoice, output = { type: 'text' } }: OwnRequest,
  upstreams: readonly Upstream[],
): boolean {
  if ((logprobs === undefined && !isContinued(prompt)) || prompt.otherTools !== undefined || hasMedia(prompt)) return false
  const isHeldByGrammar = toolChoice?.type === 'required' || output.type !== 'text'
  if (prompt.tools.length > 0 && toolChoice?.type !== 'none' && isHeldByGrammar) return false
  return upstreams.length > 0 && upstreams.every(({ profile }) => profile.losesHeldOutput === true && profile.protocol === 'chat')
}

/** Its calls are held to the schema. */
export function isHeld({ strict, enforced }: FunctionTool): boolean {
  return strict === true || enforced !== undefined
}

function likeOf({ tools }: RenderRequest['prompt']): 'withTools' | 'withoutTools' {
  return tools.length > 0 ? 'withTools' : 'withoutTools'
}

/** Every template renders it: the user and the assistant alternate, with text only. */
function isPlain({ messages, tools, start }: RenderRequest['prompt']): boolean {
  return (
    start === 'new-turn' &&
    tools.length === 0 &&
    messages.length % 2 === 1 &&
    messages.every((message, index) =>
      index % 2 === 0 ? message.role === 'user' : message.role === 'assistant' && message.parts.every(isSaid),
    )
  )
}

function isSaid(part: OutputPart): boolean {
  return part.type === 'text' && part.text !== ''
}

function rendering({ prompt, reasoning, toolChoice }: RenderRequest, template: OwnTemplate, format: ModelFormat) {
  const { source, bos, eos, pad, unk } = template
  const { toolFormat, reasoning: tags } = format
  return {
    prompt,
    reasoning,
    ...(toolChoice !== undefined && { toolChoice }),
    template: { source, bos, eos, pad, unk, toolFormat, reasoning: tags, specialTexts: specialTextsOf(template) },
  }
}

/**
 * Ends the thought that the template has opened: a server's constraint applies from the first token, so the answer would end up in the
 * thought.
 */
function withoutThought({ text, startsInReasoning }: WrittenPrompt, { reasoning }: ModelFormat): WrittenPrompt {
  if (!startsInReasoning || reasoning === undefined) return { text, startsInReasoning }
  return { text: text + reasoning.close, startsInReasoning: false }
}

/** Shows only the tools that may be called, as for other servers. */
function withCallableTools({ prompt, toolChoice }: RenderRequest): RenderRequest['prompt'] {
  if (toolChoice === undefined || toolChoice.type === 'none') return prompt
  return { ...prompt, tools: callableTools(prompt.tools, toolChoice) }
}

function specialTextsOf({ source, bos, eos, specialTexts = [] }: OwnTemplate): readonly string[] {
  const inSource = [...turnEnds, ...turnHeaders].filter((text) => source.includes(text))
  const all = [bos, eos, ...specialTexts, ...inSource, ...(source.match(specialTag) ?? [])]
  return [...new Set(all.filter((text) => text !== undefined && text !== ''))] as string[]
}

function turnEndsOf({ source, eos }: OwnTemplate, own: readonly string[]): readonly string[] {
  // A turn in Harmony has several messages.
  const isMessageEnd = (text: string) => text === '<|end|>' && source.includes('<|return|>')
  const ends = turnEnds.filter((text) => source.includes(text) && !isMessageEnd(text))
  return [...new Set([...(eos === undefined || eos === '' ? [] : [eos]), ...own, ...ends])].slice(0, maxStops)
}

function noTemplate(id: string): AppError {
  const message = `model '${id}' is spoken to in completions, and its server reports no chat template: set the model's chatTemplate`
  return new AppError('template-failed', message)
}

type BosOptions = {
  /** The text of the BOS token, if known. */
  readonly bos: string | undefined
  /** The server puts the token before a prompt. */
  readonly serverAdds: boolean
  /** The model's tokenizer would put it there. */
  readonly tokenizerAdds: boolean
}

/** A rendered prompt that has exactly one BOS token once the server has tokenized it, if the model wants one. */
export function withOneBos(text: string, { bos, serverAdds, tokenizerAdds }: BosOptions): string {
  if (bos === undefined || bos === '') return text
  let from = 0
  while (text.startsWith(bos, from)) from += bos.length
  const isWanted = from > 0 || tokenizerAdds
  return (isWanted && !serverAdds ? bos : '') + text.slice(from)
}
