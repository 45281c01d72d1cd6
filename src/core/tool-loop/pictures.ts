import type { RequestContext } from '../../contract/context.ts'
import type { MediaReader } from '../../contract/media.ts'
import type { MediaPart } from '../../contract/request.ts'
import type { ToolOutcome } from '../../contract/server-tool.ts'

type Deps = { readonly media?: MediaReader | undefined }
type Around = Pick<RequestContext, 'model' | 'principal' | 'signal'> & {
  /** How many more pictures fit. */
  readonly room: number
}

/** The pictures of a result that the model can see; unreadable ones are left out. */
export async function picturesFor(
  { media }: Deps,
  { images = [] }: ToolOutcome,
  { model, principal, signal, room }: Around,
): Promise<readonly MediaPart[]> {
  if (media === undefined || images.length === 0 || model.engine.facts.modalities?.image !== true) return []
  const pictures: MediaPart[] = []
  for (const image of images.slice(0, room)) {
    const source = { type: 'base64' as const, ...image }
    try {
      const read = await media.read([{ kind: 'image', source, at: [] }], { principal, signal })
      read.release()
      pictures.push({ type: 'media', kind: 'image', source })
    } catch {
      signal.throwIfAborted()
      // The result mentions the picture; its failure is not the caller's fault.
    }
  }
  return pictures
}
