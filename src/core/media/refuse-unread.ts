import { hasMedia } from '../../canonical/parts.ts'
import type { Engine } from '../../contract/engine.ts'
import type { MediaReader } from '../../contract/media.ts'
import type { Prompt } from '../../contract/request.ts'
import { referencesIn } from './with-media.ts'

type Model = { readonly engine: Engine; ready(): Promise<void> | undefined; readonly media: MediaReader | undefined }

/**
 * Throws `unsupported-field` for media that the model cannot read, before anything is fetched. If nothing is known about the model, it is
 * loaded first, unless the references can be refused without it. Undefined: nothing to wait for.
 */
export function refuseUnread(request: { readonly prompt: Prompt }, { engine, ready, media }: Model): Promise<void> | undefined {
  if (engine.checkMedia === undefined || !hasMedia(request.prompt)) return undefined
  if (engine.facts.modalities === undefined) media?.check(referencesIn(request.prompt))
  const loading = engine.facts.modalities === undefined ? ready() : undefined
  if (loading !== undefined) return loading.then(() => engine.checkMedia?.(request))
  engine.checkMedia(request)
  return undefined
}
