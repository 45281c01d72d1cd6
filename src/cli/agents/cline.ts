import { join } from 'node:path'
import type { Agent } from './agent.ts'

/** Configured by a data folder of its own, which is all it offers: its sessions end with it. */
export const cline: Agent = {
  title: 'Cline',
  command: 'cline',
  npmPackage: 'cline',
  protocols: ['chat'],
  firstRequestBytes: 21_800,
  setUp: ({ url, apiKey, model, folder }) => {
    const provider = 'openai-compatible'
    const providers = {
      version: 1,
      lastUsedProvider: provider,
      modes: {},
      providers: {
        [provider]: {
          settings: { provider, apiKey, model, baseUrl: `${url}/v1` },
          updatedAt: new Date(0).toISOString(),
          tokenSource: 'manual',
        },
      },
    }
    return {
      env: {},
      args: ['--data-dir', join(folder, 'data')],
      files: { 'data/settings/providers.json': JSON.stringify(providers, null, 2) },
    }
  },
}
