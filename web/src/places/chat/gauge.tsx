import type { Signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import { call } from '../../api/client.ts'
import { chatTexts } from '../../texts/chat.ts'
import { type Conversation, pathOf } from './conversation.ts'
import { contextOf, type Model } from './models.ts'
import { chatBody, readable } from './request.ts'

/** How much of the context is used: system and tools, conversation, room. It knows the cost of the last answer. */
export function Gauge({ conversation, model }: { readonly conversation: Signal<Conversation>; readonly model: Model }) {
  const { settings } = conversation.value
  const [systemTokens, setSystemTokens] = useState(0)
  const all = contextOf(model)
  const facts = pathOf(conversation.value).findLast((message) => message.facts !== undefined)?.facts
  const used = facts === undefined ? 0 : facts.promptTokens + facts.outputTokens
  const { system, tools } = settings
  const isLoaded = model.state === 'ready'
  useEffect(() => {
    if ((system.trim() === '' && tools.trim() === '') || !isLoaded) return setSystemTokens(0)
    const timer = setTimeout(() => {
      const { messages, model: name, tools: list } = chatBody([], readable({ ...settings, system }), { model: model.id })
      call<{ readonly input_tokens: number }>('v1/chat/count_tokens', {
        body: {
          model: name,
          messages: [...messages, ...(messages.length === 0 ? [{ role: 'user', content: '' }] : [])],
          tools: list,
        },
      }).then(
        ({ input_tokens: count }) => setSystemTokens(count),
        // The gauge then shows one part instead of two.
        () => setSystemTokens(0),
      )
    }, 800)
    return () => clearTimeout(timer)
  }, [system, tools, model.id, isLoaded])
  if (all === undefined) return null
  const fixed = Math.min(systemTokens, all)
  const spoken = Math.max(0, Math.min(all - fixed, used - fixed))
  const { gaugeParts: names } = chatTexts
  const title = `${chatTexts.gaugeOf(Math.max(used, fixed), all)}: ${names.system} ${fixed}, ${names.conversation} ${spoken}, ${names.room} ${all - fixed - spoken}`
  return (
    <div class="gauge" role="img" aria-label={title} title={title}>
      <span class="gauge-system" style={{ width: `${(100 * fixed) / all}%` }} />
      <span class="gauge-conversation" style={{ width: `${(100 * spoken) / all}%` }} />
    </div>
  )
}
