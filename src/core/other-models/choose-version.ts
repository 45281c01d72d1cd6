import type { RequestContext } from '../../contract/context.ts'
import { AppError } from '../../contract/errors.ts'
import type { GenerationRequest } from '../../contract/request.ts'
import type { ModelVersion, ServedModel } from '../../contract/served-model.ts'
import { conversationShare } from './conversation-share.ts'
import type { OtherModels } from './other-models.ts'

/** The version name that pins a request to the model itself. */
const main = 'main'

/** The model that serves a request; `isPinned`: no other may. */
export type ChosenVersion = { readonly model: ServedModel; readonly isPinned: boolean }

/**
 * The version of a model that serves a request: the one it names, or one chosen by its conversation, which keeps it. Throws
 * `invalid-request` for an unknown version, and `model-not-found` for a version that the caller may not choose.
 */
export function chooseVersion(
  context: RequestContext,
  request: Pick<GenerationRequest, 'prompt' | 'forwarded'>,
  others: OtherModels | undefined,
): ChosenVersion {
  const { model, version, principal } = context
  const { versions = [] } = model
  if (version === main) return { model, isPinned: true }
  if (version !== undefined) {
    const named = versions.find(({ name }) => name === version)
    if (named === undefined) throw unknownVersion(model, version)
    const pinned = others?.find(named.id, principal)
    if (pinned !== undefined) return { model: pinned, isPinned: true }
    throw new AppError('model-not-found', `model '${named.id}' not found: this key may not choose the version '${version}'`, {
      at: ['model'],
    })
  }
  if (versions.length === 0) return { model, isPinned: false }
  const chosen = versionAt(versions, conversationShare(request, context, model.id))
  // A key that may use the model may use its versions.
  return { model: (chosen && others?.find(chosen.id, {})) ?? model, isPinned: false }
}

/** The version whose share of all conversations includes this one; undefined: the model itself serves the rest. */
export function versionAt(versions: readonly ModelVersion[], share: number): ModelVersion | undefined {
  let end = 0
  return versions.find(({ percent }) => {
    end += percent
    return share * 100 < end
  })
}

function unknownVersion({ id, versions = [] }: ServedModel, name: string): AppError {
  const names = [main, ...versions.map((version) => version.name)].join(', ')
  const message = `model '${id}' has no version '${name.slice(0, 100)}' (x-dragoman-version); it has: ${names}`
  return new AppError('invalid-request', message, { at: ['model'] })
}
