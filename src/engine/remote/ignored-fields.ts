import { changesNothing } from '../../canonical/neutral-sampling.ts'
import { placedMediaIn } from '../../canonical/parts.ts'
import type { PreparedGeneration } from '../../contract/engine.ts'
import type { CanonicalPath } from '../../contract/field.ts'
import type { MediaConverter } from '../../contract/media.ts'
import type { GenerationRequest, MediaPart, Prompt } from '../../contract/request.ts'
import { isLarge } from '../shared/adapt-media.ts'
import type { Upstream } from './servers/upstream.ts'

type Fleet = { readonly upstreams: readonly Upstream[]; readonly converter: MediaConverter | undefined }

/** The fields of a request that no server honours and that may be ignored. */
export function ignoredFields(request: GenerationRequest, fleet: Fleet): Pick<PreparedGeneration, 'ignored'> {
  const ignored = [
    ...ignoredLoops(request, fleet),
    ...ignoredBudget(request, fleet),
    ...ignoredWishes(request, fleet),
    ...ignoredDetails(request, fleet),
  ]
  return ignored.length === 0 ? {} : { ignored }
}

/** A guard against loops, which clients of tabbyAPI always send. */
function ignoredLoops({ sampling }: GenerationRequest, { upstreams }: Fleet): readonly CanonicalPath[] {
  const isOff = changesNothing('loopWindow', sampling) || upstreams.some(({ profile }) => profile.fields.own === true)
  return isOff ? [] : [['sampling', 'loopWindow']]
}

/** A budget of reasoning tokens, which the server may ignore: outside of Messages, few have one. */
function ignoredBudget({ reasoning }: GenerationRequest, { upstreams }: Fleet): readonly CanonicalPath[] {
  if (reasoning.isWish !== true || (reasoning.budgetTokens ?? 0) === 0) return []
  const isTaken = upstreams.some(({ profile }) => profile.protocol === 'messages' || profile.reasoningBudget === true)
  return isTaken ? [] : [['reasoning', 'budgetTokens']]
}

/** Wishes about thinking that no server accepts. */
function ignoredWishes({ reasoning }: GenerationRequest, { upstreams }: Fleet): readonly CanonicalPath[] {
  const { isWish, enabled, effort, preserve } = reasoning
  if (isWish !== true) return []
  const takesVariables = upstreams.some(({ profile }) => profile.templateVariables || profile.protocol === 'completions')
  const isSwitched = takesVariables || upstreams.some(({ profile }) => profile.protocol === 'messages')
  return [
    ...(enabled === true && effort === undefined && !isSwitched ? [['reasoning', 'enabled']] : []),
    ...(preserve !== undefined && !takesVariables ? [['reasoning', 'preserve']] : []),
  ]
}

/** `detail: low` of large images, if a server has no such field and sharp is not installed to shrink them here. */
export function ignoredDetails(
  { prompt }: { readonly prompt: Prompt },
  { upstreams, converter }: Fleet,
): readonly CanonicalPath[] {
  if (converter?.hasImages === true || !upstreams.some(({ profile }) => profile.ignoresDetail === true)) return []
  const isIgnored = ({ kind, detail, source }: MediaPart) =>
    kind === 'image' && detail === 'low' && source.type === 'bytes' && isLarge(source)
  return placedMediaIn(prompt).flatMap(({ part, at }) => (isIgnored(part) ? [[...at, 'detail']] : []))
}
