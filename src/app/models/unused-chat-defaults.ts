import type { Logger } from 'pino'
import type { Engine } from '../../contract/engine.ts'
import { plainChat } from '../../contract/request.ts'
import type { ChatDefaults } from '../../contract/served-model.ts'
import { ignoredByTemplate } from '../../core/checks/ignored-by-template.ts'

type Watched = { readonly id: string; readonly chat: ChatDefaults | undefined; readonly engine: Engine }

/** Warns, once the chat template is known, about settings of `chat` that it does not use. */
export function warnOfUnusedDefaults({ id, chat, engine }: Watched, log: Logger): void {
  if (chat === undefined) return
  const stop = engine.onState(({ type }) => {
    if (type !== 'ready') return
    stop()
    const unused = unusedDefaults(chat, engine)
    if (unused.length > 0) log.warn({ model: id, unused }, "the model's chat template has no use for some settings of `chat`")
  })
}

const settings: Readonly<Record<string, string>> = { enabled: 'thinking', effort: 'effort', preserve: 'preserveThinking' }

export function unusedDefaults(chat: ChatDefaults, engine: Pick<Engine, 'facts'>): readonly string[] {
  const { enabled, ...reasoning } = chat.reasoning
  const templateVariables = { ...chat.variables, ...chat.forcedVariables }
  const prompt = { type: 'chat', ...plainChat, messages: [], templateVariables } as const
  // An effort is a switch, too, so each is checked alone.
  const asked = [
    { prompt, reasoning },
    ...(enabled === undefined ? [] : [{ prompt: { ...prompt, templateVariables: {} }, reasoning: { enabled } }]),
  ]
  return asked.flatMap((request) =>
    ignoredByTemplate(request, engine).map((path) =>
      path[0] === 'reasoning'
        ? (settings[path[1] ?? ''] ?? '')
        : `${String(path[2]) in chat.variables ? 'variables' : 'forcedVariables'}.${path[2]}`,
    ),
  )
}
