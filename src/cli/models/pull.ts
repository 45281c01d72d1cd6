import type { ModelConfig } from '../../config/schema.ts'
import { AppError } from '../../contract/errors.ts'
import type { Source } from '../../registry/names/sources.ts'
import { fetchShown } from '../servers/fetch-shown.ts'
import { commandName } from '../terminal/command-name.ts'
import { findWanted, type LoadModels } from './wanted-model.ts'

type WantedFile = { readonly source: readonly Source[]; readonly sha256?: string | undefined }

/** Fetches the files of a model and prints their paths. The name is a configured model, a source, or the short name of one. */
export async function pull(name: string, loadConfig: LoadModels): Promise<void> {
  const { model, config, isFromSource } = await findWanted(name, loadConfig)
  const files = filesOf(model)
  if (files.length === 0) throw new AppError('invalid-request', `model '${model.id}' has no file to fetch`)
  for (const file of files) console.log(await fetchShown({ ...file, id: model.id }, config.home))
  console.error(
    `chat with it: ${commandName} run ${name}${isFromSource ? `\nserve it:     ${commandName} serve --model ${name}` : ''}`,
  )
}

/** All files that serving the model needs. */
function filesOf(model: ModelConfig): WantedFile[] {
  switch (model.engine) {
    case 'llama':
    case 'llama-server': {
      const extra = [model.mmproj, model.draft?.source].filter((source) => source !== undefined)
      return [model, ...extra.map((source) => ({ source }))]
    }
    case 'remote':
    case 'fake':
      return []
  }
}
