import { printable } from '../../app/log/printable.ts'
import { AppError, messageOf } from '../../contract/errors.ts'
import type { Agent } from '../agents/agent.ts'
import { needOf, planRoom, tooSmall } from '../agents/agent-need.ts'
import type { ModelCard, ServerAddress } from '../servers/client.ts'
import { loadShown, type ModelLine, readStatus } from '../servers/load.ts'
import { commandName } from '../terminal/command-name.ts'

/** Engines that load models with a context of the operator's choice. */
const loadable: ReadonlySet<string | null> = new Set(['llama', 'llama-server'])

/**
 * Ensures that a model of a running server has the context that an agent needs, as far as the server's memory and the key allow, by loading
 * it, or loading it again. Returns the model's new state. Throws if the agent's first request cannot fit.
 */
export async function makeRoom(agent: Agent, server: ServerAddress, card: ModelCard): Promise<ModelCard> {
  const need = needOf(agent)
  if ((card.context_length ?? 0) >= need.tokens) return card
  const line = await loadedLine(server, card)
  const contextLength = line?.context_length ?? card.context_length
  // Other servers may not report it.
  if (contextLength === undefined) return card
  const asItIs = { ...card, context_length: contextLength }
  if (contextLength >= need.tokens) return asItIs
  const problem = tooSmall(agent, need, { id: card.id, contextLength })
  if (line === undefined) return goOn(problem, asItIs)
  const trained = line.native_context_length ?? contextLength
  const longest = line.max_context_lengths.map((fit) => ({ slots: fit.slots, contextLength: fit.context_length }))
  const plan = planRoom(need, { contextLength, trained, longest })
  switch (plan.type) {
    case 'enough':
      return asItIs
    case 'load': {
      const { slots, contextLength: wanted } = plan
      note(`loading ${card.id} with a context of ${wanted} tokens and slots: ${slots}, because ${problem}`)
      try {
        const reply = await loadShown(server, { model_path: card.id, max_seq_length: wanted, n_parallel: slots })
        return { ...card, context_length: reply.context_length ?? wanted }
      } catch (error) {
        const command = `${commandName} load ${card.id} --context ${wanted} --slots ${slots}`
        return goOn(`it is not loaded: ${messageOf(error)}; when it can be, this does it: ${command}`, asItIs)
      }
    }
    case 'too-small': {
      const message = `${problem}. ${plan.why}`
      if (contextLength < need.first) throw new AppError('invalid-request', message)
      return goOn(message, asItIs)
    }
  }
}

/** The model as the server has loaded it; undefined if this server cannot load it, or the key may not. */
async function loadedLine(server: ServerAddress, { id }: ModelCard): Promise<ModelLine | undefined> {
  const find = async () => (await readStatus(server)).find((line) => line.id === id && loadable.has(line.engine))
  // Other servers have no such route.
  const line = await find().catch(() => undefined)
  if (line === undefined || (line.state === 'ready' && line.context_length !== null)) return line
  note(`loading ${id}`)
  try {
    await loadShown(server, { model_path: id })
  } catch (error) {
    // A key without the scope for it: the agent's first request loads the model.
    if (AppError.from(error).code !== 'forbidden') throw error
  }
  return find()
}

function goOn(warning: string, card: ModelCard): ModelCard {
  note(warning)
  return card
}

function note(text: string): void {
  console.error(`dragoman: ${printable(text)}`)
}
