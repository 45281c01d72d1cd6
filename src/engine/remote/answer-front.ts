import { isContinued, textOf } from '../../canonical/parts.ts'
import { AppError } from '../../contract/errors.ts'
import type { FormatSettings, OutputFormat } from '../../contract/output-format.ts'
import type { ChatPrompt, ContentPart, GenerationRequest, Message } from '../../contract/request.ts'
import { hasTags, type ModelFormat, reasoningAtEnd, recogniseFormat } from '../../model-text/model-format.ts'
import { endsInside } from '../../model-text/template/continue-message.ts'
import type { TemplateReader } from '../../threads/template-reader.ts'
import { type AnswerGrammar, wantedOf } from '../constraint/answer-grammar.ts'
import type { CompilerThreads } from '../constraint/compiler-threads.ts'
import { reasoningFront } from '../front/reasoning-front.ts'
import { type AnswerFront, fromRoot } from '../front/reasoning-grammar.ts'
import type { OwnPrompt } from './own-prompts.ts'
import type { AnswerText } from './servers/check-upstream.ts'
import type { Profile, ProfileName } from './servers/profile.ts'
import type { Discovery, Upstream, UpstreamAccess } from './servers/upstream.ts'
import { UpstreamError } from './transport/upstream-error.ts'
import { callsByGrammar } from './wire/body/call-grammar.ts'
import { usesOurGrammar } from './wire/body/output-fields.ts'
import { usualTags } from './wire/reply/reply-format.ts'
import { promptEndRemotely } from './wire/tokenizer.ts'

type FrontDeps = {
  /** The prompt, if it was rendered here. */
  readonly own: OwnPrompt | undefined
  readonly discovery: Pick<Discovery, 'chatTemplate' | 'isThinkingOff'>
  readonly settings: FormatSettings
  readonly templates: Pick<TemplateReader, 'readThinking'>
  ask(call: (access: UpstreamAccess) => Promise<string>): Promise<string>
}

/** Whether one of the upstreams gets this conversation with one of our grammars. */
export function needsFront(request: GenerationRequest, upstreams: readonly Upstream[]): boolean {
  if (request.prompt.type !== 'chat') return false
  const { output } = request
  const isConstrained = wantedOf(request) !== undefined
  return upstreams.some(({ profile }) => {
    if (takesAnswers(profile)) return isConstrained
    return callsByGrammar(request, profile) || (output.type !== 'text' && usesOurGrammar(profile))
  })
}

/** Whether conversations are rendered here, with a grammar for the whole answer. */
function takesAnswers({ protocol, gbnf }: Profile): boolean {
  return protocol === 'completions' && gbnf !== undefined
}

type AnswerDeps = {
  /** The prompt that was rendered here. */
  readonly own: OwnPrompt
  readonly front: AnswerFront | undefined
  readonly replicas: { readonly upstreams: readonly Upstream[] }
  readonly answers: CompilerThreads<AnswerGrammar>
}

/** The grammar of the whole answer to a conversation that was rendered here, as for the embedded engine. Undefined if no server takes it. */
export async function compileAnswer(
  request: GenerationRequest,
  { own, front, replicas, answers }: AnswerDeps,
  signal: AbortSignal,
): Promise<AnswerText | undefined> {
  const wanted = wantedOf(request)
  if (wanted === undefined || replicas.upstreams.every(({ profile }) => profile.gbnf === undefined)) return undefined
  const context = { format: front?.format ?? own.outputFormat, endTexts: own.turnEnds }
  const answer = await answers.compile({ wanted, context, front: front?.front ?? 'never' }, signal)
  return answer && { ...answer, grammar: fromRoot(answer) }
}

/** Whether the operator configured other reasoning tags than the template has: a server that separates the reasoning does not know them. */
export function hasForeignTags(chatTemplate: string | undefined, { reasoningTags }: FormatSettings): boolean {
  return reasoningTags !== undefined && !hasTags(recogniseFormat(chatTemplate).reasoning, reasoningTags)
}

/**
 * The text that the model may write before a constrained answer, judged by the end of the prompt. Undefined if the servers render the
 * prompt without showing it.
 */
export async function findFront(
  { prompt, reasoning, toolChoice }: GenerationRequest,
  { own, discovery, settings, templates, ask }: FrontDeps,
): Promise<AnswerFront | undefined> {
  if (prompt.type !== 'chat') return undefined
  const { chatTemplate, isThinkingOff } = discovery
  const format = own?.outputFormat ?? recogniseFormat(chatTemplate, settings)
  const rendering = { prompt: withoutMedia(prompt), reasoning, toolChoice }
  const text = own?.text ?? (await ask((access) => promptEndRemotely(rendering, access)).catch(unknown))
  if (text === undefined) return undefined
  const isOff = own === undefined ? isThinkingOff === true : (await templates.readThinking(own.template)).isOffByDefault
  const tags = format.reasoning ?? (chatTemplate === undefined ? usualTags : undefined)
  const startsInReasoning = isContinued(prompt)
    ? continuesThought(prompt, tags)
    : tags !== undefined && text.trimEnd().endsWith(tags.open.trim())
  const atEnd = reasoningAtEnd({ text, traced: text, startsInReasoning }, prompt, tags)
  return {
    format: { ...format, startsInReasoning },
    front: reasoningFront(reasoning, atEnd, () => !isOff),
    isTight: own === undefined,
  }
}

type Begun = {
  readonly front: AnswerFront | undefined
  readonly isForeign: boolean
  /** The servers leave thoughts that the prompt begins in the text. */
  readonly isLeft: boolean
  readonly format: OutputFormat | undefined
  readonly profile: ProfileName
}

/** Whether the text of a server that renders the prompt begins inside of a thought. It separates none that the caller has begun. */
export function startsInThought(
  { prompt, output }: GenerationRequest,
  { front, isForeign, isLeft, format, profile }: Begun,
): boolean {
  if (prompt.type !== 'chat' || (!isForeign && !isLeft && !isContinued(prompt))) return false
  if (front !== undefined) return front.format?.startsInReasoning === true
  // The server begins with the structure, also where the prompt has begun a thought.
  if (output.type !== 'text') return false
  // Another Dragoman does.
  return !isForeign && profile !== 'dragoman' && continuesThought(prompt, format?.reasoning)
}

/** Errors in the request are reported when its body is written. */
function unknown(error: unknown): undefined {
  if (error instanceof AppError || error instanceof UpstreamError) return undefined
  throw error
}

function continuesThought({ messages, responsePrefix }: ChatPrompt, tags: ModelFormat['reasoning']): boolean {
  const last = messages.at(-1)
  const parts = last?.role === 'assistant' ? last.parts : []
  const text = textOf(parts) + responsePrefix
  return text === '' ? parts.some(({ type }) => type === 'reasoning') : endsInside(text, tags)
}

/** Media do not change how a prompt ends. */
function withoutMedia(prompt: ChatPrompt): ChatPrompt {
  return { ...prompt, messages: prompt.messages.map(asText) }
}

function asText(message: Message): Message {
  return message.role === 'assistant' ? message : { ...message, content: message.content.map(withoutFile) }
}

function withoutFile(part: ContentPart): ContentPart {
  return part.type === 'media' ? { type: 'text', text: part.kind } : part
}
