import type { LoadedConfig } from '../config/load.ts'
import type { ModelConfig } from '../config/schema.ts'
import { AppError } from '../core/errors.ts'
import { ensureModelFile } from '../registry/fetch-model.ts'
import { createRegistry } from '../registry/registry.ts'
import { isSource } from '../registry/sources.ts'
import { createProgress } from './progress.ts'

/** Fetches a model file and prints where it is. The name is a model of the configuration, or a source. */
export async function pull(name: string, loadConfig: (models: readonly string[]) => Promise<LoadedConfig>): Promise<void> {
  const source = isSource(name)
  const config = await loadConfig(source ? [name] : [])
  const model: ModelConfig = source ? (config.models[0] as ModelConfig) : createRegistry(config.models).resolve(name)
  if (model.engine !== 'llama') throw new AppError('invalid-request', `model '${model.id}' has no file to fetch`)
  const progress = createProgress(process.stderr)
  const controller = new AbortController()
  const stop = () => controller.abort(new AppError('cancelled', 'stopped; run it again to go on from here'))
  process.once('SIGINT', stop)
  process.once('SIGTERM', stop)
  try {
    const path = await ensureModelFile(model.source, {
      home: config.home,
      signal: controller.signal,
      ...(model.sha256 !== undefined && { sha256: model.sha256 }),
      onProgress: ({ receivedBytes, totalBytes }) => progress.update(`fetching ${model.id}`, receivedBytes, totalBytes),
      onNote: (note) => progress.note(note),
    })
    progress.end()
    console.log(path)
  } finally {
    progress.end()
  }
}
