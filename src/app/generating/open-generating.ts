import type { Logger } from 'pino'
import type { LoadedConfig } from '../../config/load.ts'
import type { RenderPrompt } from '../../core/prefix/dropped-thoughts.ts'
import { PrefixMemory } from '../../core/prefix/prefix-memory.ts'
import { ToolApprovals } from '../../core/tool-loop/tool-approvals.ts'
import type { Generating, Keeping } from '../../http/run/deps.ts'
import { OutputValidator } from '../../threads/output-validator.ts'
import { PromptRenderer } from '../../threads/prompt-renderer.ts'
import type { ModelSet } from '../models/model-set.ts'
import type { State } from '../state/open-state.ts'
import type { openWatching } from '../watching/open-watching.ts'
import { createConfiguredMedia } from './media.ts'
import { createConfiguredTools } from './tools.ts'

type Surroundings = {
  readonly log: Logger
  readonly models: Pick<ModelSet, 'find'>
  readonly state: Pick<State, 'live' | 'sealerOf' | 'store' | 'siblings' | 'everyone'>
  readonly watching: Pick<Awaited<ReturnType<typeof openWatching>>, 'metrics' | 'ofGenerations'>
  readonly admitsToolCall: NonNullable<Generating['admitsToolCall']>
}

/** Opens what all generations share, with the media and the tools that the configuration allows. */
export async function openGenerating(config: LoadedConfig, { log, models, state, watching, admitsToolCall }: Surroundings) {
  const { live, sealerOf, store, siblings, everyone } = state
  const { onFallback, ...observers } = watching.ofGenerations
  const { media, files } = createConfiguredMedia(config, store?.files)
  const { tools, pictures } = await createConfiguredTools(config, log)
  const validator = new OutputValidator()
  const renderer = new PromptRenderer()
  const render: RenderPrompt = async ({ reasoning = {}, ...request }, source) => {
    const template = { source, specialTexts: [] }
    return (await renderer.render({ ...request, reasoning, template }, new AbortController().signal)).text
  }
  return {
    forRoutes: {
      now: () => performance.now(),
      validator,
      presets: live.presets,
      templates: live.templates,
      media,
      tools,
      others: { find: (name, viewer) => models.find(name, viewer), onFallback },
      prefixes: new PrefixMemory({ siblings, everyone, render, onDiverged: watching.metrics.promptDiverged }),
      ...observers,
      approvals: new ToolApprovals(everyone),
      admitsToolCall,
      shortensOutput: config.server.shortenOutput,
      sealerOf,
      ...(store !== undefined && { store, keepsCompletions: config.storage.chatCompletions === 'all' }),
      ...(files !== undefined && { files }),
      ...(pictures !== undefined && { pictures }),
    } satisfies Generating & Keeping,
    async close() {
      await Promise.all([validator.close(), renderer.close(), tools.close()])
    },
  }
}
