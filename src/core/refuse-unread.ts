import type { Engine } from '../contract/engine.ts'
import type { MediaReader } from '../contract/media.ts'
import { mediaIn } from '../contract/parts.ts'
import type { Prompt } from '../contract/request.ts'
import { referencesIn } from './with-media.ts'

type Model = { readonly engine: Engine; ready(): Promise<void>; readonly media: MediaReader | undefined }

/**
 * Throws `unsupported-field` for media that the model cannot read, before anything is fetched. Where nothing is known about the model, it is
 * loaded first, unless the references can be refused without it.
 */
export async function refuseUnread(request: { readonly prompt: Prompt }, { engine, ready, media }: Model): Promise<void> {
  if (engine.checkMedia === undefined || mediaIn(request.prompt).length === 0) return
  if (engine.facts.modalities === undefined) {
    media?.check(referencesIn(request.prompt))
    await ready()
  }
  engine.checkMedia(request)
}
