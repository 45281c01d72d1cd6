import { AppError } from '../../../contract/errors.ts'
import type { MediaKind } from '../../../contract/media.ts'
import type { OutputFormat } from '../../../contract/output-format.ts'
import type { GenerationRequest } from '../../../contract/request.ts'
import type { AnswerFront } from '../../front/reasoning-grammar.ts'
import type { MediaSkills } from '../../shared/adapt-media.ts'
import { checkContextFit } from '../../shared/context-fit.ts'
import { refuseMedia } from '../../shared/refuse-media.ts'
import type { Upstream } from './upstream.ts'

/** A request as it is sent. Its conversation may have been rendered here. */
export type SentRequest = GenerationRequest & {
  /** The texts that end the turn of a rendered conversation. */
  readonly turnEnds?: readonly string[]
  /** Texts of special tokens that the output of a rendered conversation is parsed by. */
  readonly specialTexts?: readonly string[]
  /** How to parse the reply, if stop sequences are searched in it. */
  readonly outputFormat?: OutputFormat
  /** Calls are searched in the reasoning that the server has separated from the answer. */
  readonly readsThoughts?: true
  /** llama-server's field: the scale of each adapter. */
  readonly lora?: readonly { readonly id: number; readonly scale: number }[]
  /** The grammar of the whole answer to a conversation that was rendered here. */
  readonly answer?: AnswerText
  /** The text that the model may write before a constrained answer. Absent: unknown. */
  readonly front?: AnswerFront | undefined
}

/** A grammar with `root` as its first rule. `isOpen`: it constrains only calls; the text between them is free. */
export type AnswerText = {
  readonly grammar: string
  /** How much of the wanted structure it enforces. */
  readonly structured: 'full' | 'partial' | undefined
  readonly isOpen: boolean
}

/** A request with the size of its prompt. */
export type CountedRequest = {
  readonly request: SentRequest
  /** The client's name for the model. */
  readonly model: string
  /** Undefined: it certainly fits every replica, or cannot be counted. */
  readonly inputTokens: number | undefined
}

/** Throws `unsupported-field` for media that the upstream cannot read, and `context-length-exceeded` for a prompt that is too long. */
export function checkUpstream({ request, model, inputTokens }: CountedRequest, upstream: Upstream): void {
  const { contextLength } = upstream
  checkMedia(request, model, upstream)
  if (inputTokens === undefined || contextLength === undefined) return
  checkContextFit({ inputTokens, outputTokens: request.maxOutputTokens, contextLength })
}

/** The media that an upstream reads, as far as known. */
function readsOf({ modalities, profile }: Upstream): Readonly<Record<MediaKind, boolean>> {
  return modalities === undefined ? profile.reads : { ...profile.reads, video: false, ...modalities }
}

export function skillsOf(upstream: Upstream): MediaSkills {
  return { ...upstream.profile, reads: readsOf(upstream) }
}

/** Throws `unsupported-field` for media that the upstream cannot read. */
export function checkMedia(request: Pick<SentRequest, 'prompt'>, model: string, upstream: Upstream): void {
  refuseUnreadable(request, { model, upstreams: [upstream], makesFrames: false })
}

type Readers = {
  readonly model: string
  readonly upstreams: readonly Upstream[]
  /** Videos become images if no upstream reads them. */
  readonly makesFrames: boolean
}

/** Throws `unsupported-field` for media that no upstream can read. */
export function refuseUnreadable(request: Pick<SentRequest, 'prompt'>, { model, upstreams, makesFrames }: Readers): void {
  const [first] = upstreams
  if (first === undefined) return
  const reads = (kind: MediaKind): boolean =>
    upstreams.some((upstream) => readsOf(upstream)[kind]) || (makesFrames && kind === 'video' && reads('image'))
  refuseMedia(request, reads, (kind) =>
    upstreams.some(({ profile }) => profile.reads[kind])
      ? `model '${model}' reads no ${kind}: serve it with a projector (mmproj), or leave the part out`
      : `the server behind this model (${first.profile.name}) reads no ${kind}: leave the part out`,
  )
}

/** Whether the error says that one upstream does not support the request, found without sending it. Another may support it. */
export function isCapabilityError(error: unknown): error is AppError {
  return error instanceof AppError && (error.code === 'unsupported-field' || error.code === 'context-length-exceeded')
}

/** The refusal to report if no upstream supports the request: a field rather than a length, and the longest of several lengths. */
export function mostHelpful(refusals: Iterable<AppError>): AppError | undefined {
  let best: AppError | undefined
  for (const refusal of refusals) if (best === undefined || contextOf(refusal) > contextOf(best)) best = refusal
  return best
}

function contextOf({ overflow }: AppError): number {
  return overflow?.contextLength ?? Number.POSITIVE_INFINITY
}
