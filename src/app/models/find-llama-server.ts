import type { ConfiguredModel } from '../../config/models.ts'
import { findProgram } from '../../registry/names/find-program.ts'

/** The llama-server for models outside the configuration: that of a configured model, otherwise the one on PATH. */
export function findLlamaServer(
  models: readonly ConfiguredModel[],
  path: string | undefined = process.env.PATH,
): string | undefined {
  const configured = models.find((model) => model.engine === 'llama-server')
  return configured?.engine === 'llama-server' ? configured.binary : findProgram('llama-server', path)
}
