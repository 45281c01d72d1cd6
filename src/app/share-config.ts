import type { LoadedConfig } from '../config/load.ts'
import { shareOf, type WorkerPlace } from '../workers/share.ts'

/** The configuration of one of several workers: its share of what all of them may use together. */
export function shareConfig(config: LoadedConfig, place: WorkerPlace): LoadedConfig {
  const { server, models } = config
  // A body of the allowed size must be possible.
  const totalBodyLimitBytes = Math.max(server.bodyLimitBytes, shareOf(server.totalBodyLimitBytes, place))
  return {
    ...config,
    server: { ...server, totalBodyLimitBytes },
    models: models.map((model) => ({
      ...model,
      slots: shareOf(model.slots, place),
      maxQueued: shareOf(model.maxQueued, place),
    })),
  }
}
