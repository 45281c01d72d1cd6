import { expectedContext, roomFor } from '../../app/models/memory/memory-sharing.ts'
import type { LoadedConfig } from '../../config/load.ts'
import type { ConfiguredModel } from '../../config/models.ts'
import type { LlamaModelConfig, LlamaServerModelConfig } from '../../config/schema.ts'
import { AppError } from '../../contract/errors.ts'
import { budgetBytes } from '../../registry/names/memory.ts'
import type { Agent } from '../agents/agent.ts'
import { needOf, planRoom, tooSmall } from '../agents/agent-need.ts'
import { fetchShown } from '../servers/fetch-shown.ts'
import { loadShown } from '../servers/load.ts'
import { type OwnServer, startOwnServer } from '../servers/own-server.ts'

/** Names that agents request by default. */
const usualNames = ['claude-*', 'gpt-*']

/**
 * Starts a server with one model for an agent, with the context that the agent needs, as far as the memory allows, and loads it. The model
 * also serves the usual names. Throws if the agent's first request cannot fit.
 */
export async function startForAgent(agent: Agent, config: LoadedConfig, model: ConfiguredModel): Promise<OwnServer> {
  const runsHere = model.engine === 'llama' || model.engine === 'llama-server'
  const settings = runsHere ? await settingsFor(agent, config, model) : {}
  const taken = new Set(config.models.flatMap(({ aliases }) => aliases))
  const aliases = [...model.aliases, ...usualNames.filter((name) => !taken.has(name))]
  const served = config.models.map((entry) => (entry === model ? { ...entry, ...settings, aliases } : entry))
  const own = await startOwnServer(config, served as ConfiguredModel[])
  try {
    await loadShown(own.operator, { model_path: model.id })
    return own
  } catch (error) {
    await own.close()
    throw error
  }
}

async function settingsFor(
  agent: Agent,
  config: LoadedConfig,
  model: LlamaModelConfig | LlamaServerModelConfig,
): Promise<Partial<Pick<LlamaModelConfig, 'contextLength' | 'slots'>>> {
  const path = await fetchShown(model, config.home)
  const need = needOf(agent)
  const choice = await expectedContext(model, { modelPath: path }, roomFor(budgetBytes(config.memory.budget), 1))
  if (choice === undefined) return {}
  const { contextLength = choice.contextLength } = model
  const plan = planRoom(need, { contextLength, trained: choice.trainedContextLength, longest: choice.longest })
  if (plan.type === 'load') return { contextLength: plan.contextLength, slots: plan.slots }
  if (plan.type === 'enough') return {}
  const message = `${tooSmall(agent, need, { id: model.id, contextLength })}. ${plan.why}`
  if (contextLength < need.first) throw new AppError('invalid-request', message)
  console.error(`dragoman: ${message}`)
  return {}
}
