import type { LoadedConfig } from '../config/load.ts'
import type { ModelConfig } from '../config/schema.ts'
import { AppError } from '../contract/errors.ts'
import { ensureModelFile } from '../registry/fetch/fetch-model.ts'
import { isSource, type Source } from '../registry/names/sources.ts'
import { resolveName } from './resolve-name.ts'
import { commandName } from './terminal/command-name.ts'
import { createProgress } from './terminal/progress.ts'

type WantedFile = { readonly source: readonly Source[]; readonly sha256?: string | undefined }

/** Fetches the files of a model and prints their paths. The name is a model of the configuration, or a source. */
export async function pull(name: string, loadConfig: (models: readonly string[]) => Promise<LoadedConfig>): Promise<void> {
  const source = isSource(name)
  const config = await loadConfig(source ? [name] : [])
  const model: ModelConfig = source ? (config.models[0] as ModelConfig) : resolveName(config.models, name)
  const files = filesOf(model)
  if (files.length === 0) throw new AppError('invalid-request', `model '${model.id}' has no file to fetch`)
  const progress = createProgress(process.stderr)
  const controller = new AbortController()
  const stop = () => controller.abort(new AppError('cancelled', 'stopped; run it again to resume'))
  process.once('SIGINT', stop)
  process.once('SIGTERM', stop)
  try {
    for (const { source, sha256 } of files) {
      const path = await ensureModelFile(source, {
        home: config.home,
        signal: controller.signal,
        ...(sha256 !== undefined && { sha256 }),
        onProgress: ({ receivedBytes, totalBytes }) => progress.update(`fetching ${model.id}`, receivedBytes, totalBytes),
        onNote: (note) => progress.note(note),
      })
      progress.end()
      console.log(path)
    }
    console.error(
      `chat with it: ${commandName} run ${name}${source ? `\nserve it:     ${commandName} serve --model ${name}` : ''}`,
    )
  } finally {
    progress.end()
  }
}

/** All files that serving the model needs. */
function filesOf(model: ModelConfig): WantedFile[] {
  switch (model.engine) {
    case 'llama':
      return [model]
    case 'llama-server': {
      const extra = [model.mmproj, model.draft?.source].filter((source) => source !== undefined)
      return [model, ...extra.map((source) => ({ source }))]
    }
    case 'remote':
    case 'fake':
      return []
  }
}
