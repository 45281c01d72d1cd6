import { hasMedia } from '../../canonical/parts.ts'
import type { MediaConverter } from '../../contract/media.ts'
import type { GenerationRequest, Prompt } from '../../contract/request.ts'
import { adaptMedia } from '../shared/adapt-media.ts'
import { refuseAdapterChoice, scalesFor } from '../shared/adapters.ts'
import type { RemoteEngineOptions } from './options.ts'
import type { OwnPrompts } from './own-prompts.ts'
import { type SentRequest, skillsOf } from './servers/check-upstream.ts'
import { type Discovery, type Upstream, underTemplate } from './servers/upstream.ts'

/** A request whose conversation a server will read. */
export type AdaptedRequest = { readonly prompt: Prompt } & Partial<Pick<GenerationRequest, 'reasoning' | 'toolChoice'>>

type Servers = {
  readonly discovery: Discovery
  readonly upstreams: readonly Upstream[]
  readonly prompts: Pick<OwnPrompts, 'heal'>
  readonly converter: MediaConverter | undefined
  readonly separatesMedia?: boolean | undefined
}

/**
 * Converts media for the servers, and changes the conversation to a form that their template renders. `OwnPrompts` does the latter itself
 * for conversations that go as text. Returns a promise only if there is something to do.
 */
export function adaptRequest<R extends AdaptedRequest>(given: R, servers: Servers, signal: AbortSignal): R | Promise<R> {
  const { discovery, upstreams, prompts, converter, separatesMedia = false } = servers
  const { protocol, profile, chatTemplate } = underTemplate(discovery, given.prompt)
  // A text holds no media.
  const readers = protocol === 'completions' ? [] : upstreams.map(skillsOf)
  const withMedia = (request: R): R | Promise<R> =>
    converter === undefined || !hasMedia(request.prompt)
      ? request
      : adaptMedia(request, { readers, converter, separatesMedia }, signal)
  if (protocol === 'completions') return withMedia(given)
  const { prompt, reasoning = {}, toolChoice } = given
  // Another Dragoman does this itself.
  if (prompt.type !== 'chat' || profile === 'dragoman') return withMedia(given)
  const rendered = { prompt, reasoning, ...(toolChoice !== undefined && { toolChoice }) }
  const healing = prompts.heal(rendered, chatTemplate, signal)
  return healing === undefined ? withMedia(given) : healing.then((healed) => withMedia({ ...given, prompt: healed }))
}

/** Sets the scale of each adapter. If a request omitted them, the server would reuse cached prompts that it computed with other scales. */
export function withAdapters(
  given: GenerationRequest,
  { adapters, id }: Pick<RemoteEngineOptions, 'adapters' | 'id'>,
  upstreams: readonly Upstream[],
): SentRequest {
  if (adapters === undefined) {
    if (!upstreams.some(({ profile }) => profile.takesAdapters === true)) refuseAdapterChoice(given, id)
    return given
  }
  const { adapter, ...request } = given
  const scales = scalesFor(adapter, { model: id, adapters })
  return { ...request, ...(adapters.length > 0 && { lora: scales.map((scale, index) => ({ id: index, scale })) }) }
}
