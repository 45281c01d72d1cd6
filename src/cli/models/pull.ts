import { AppError } from '../../contract/errors.ts'
import { hasFiles, listingWith } from '../../lifecycle/fetch-files.ts'
import { projectorOf } from '../../lifecycle/projector-of.ts'
import type { Source } from '../../registry/names/sources.ts'
import { fetchShown } from '../servers/fetch-shown.ts'
import { commandName } from '../terminal/command-name.ts'
import { findWanted, type LoadModels } from './wanted-model.ts'

type WantedFile = { readonly source: readonly Source[]; readonly sha256?: string | undefined }

/** Fetches the files of a model and prints their paths. The name is a configured model, a source, or the short name of one. */
export async function pull(name: string, loadConfig: LoadModels): Promise<void> {
  const { model, config, isFromSource } = await findWanted(name, loadConfig)
  if (!hasFiles(model)) throw new AppError('invalid-request', `model '${model.id}' has no file to fetch`)
  const { id, source, sha256, draft } = model
  const { home } = config
  const fetch = (file: WantedFile) => fetchShown({ ...file, id }, home)
  const mmproj = await projectorOf(model, { home, listFiles: listingWith({}), asksAgain: true })
  // As in the server: a model whose file is here needs no network to find its projector.
  const projector = mmproj === undefined ? undefined : await fetch({ source: mmproj })
  console.log(await fetch({ source, sha256 }))
  if (projector !== undefined) console.log(projector)
  if (draft !== undefined) console.log(await fetch(draft))
  console.error(
    `chat with it: ${commandName} run ${name}${isFromSource ? `\nserve it:     ${commandName} serve --model ${name}` : ''}`,
  )
}
