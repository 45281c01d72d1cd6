import type { Engine } from '../contract/engine.ts'
import { mediaIn } from '../contract/parts.ts'
import type { Prompt } from '../contract/request.ts'

type Model = { readonly engine: Engine; ready(): Promise<void> }

/**
 * Throws `unsupported-field` for media that the model cannot read, before anything is fetched. Where nothing is known about the model, it is
 * loaded first.
 */
export async function refuseUnread(request: { readonly prompt: Prompt }, { engine, ready }: Model): Promise<void> {
  if (engine.checkMedia === undefined || mediaIn(request.prompt).length === 0) return
  if (engine.facts.modalities === undefined) await ready()
  engine.checkMedia(request)
}
