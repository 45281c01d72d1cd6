import { useState } from 'preact/hooks'
import { call } from '../../api/client.ts'
import { placeTexts } from '../../texts/places.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { Failure } from '../../ui/states.tsx'

const texts = placeTexts.keys
const scopes = ['inference', 'tools', 'metrics', 'admin'] as const

type MakeKeyProps = {
  readonly onClose: () => void
  readonly onMade: (key: { readonly name: string; readonly key: string }) => void
}

/** The form of a new key. */
export function MakeKey({ onClose, onMade }: MakeKeyProps) {
  const [problem, setProblem] = useState<unknown>()
  const enter = async (event: SubmitEvent) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    const text = (name: string) => String(form.get(name) ?? '').trim()
    const count = (name: string) => (text(name) === '' ? undefined : Number(text(name)))
    const names = (field: string) =>
      text(field)
        .split(',')
        .map((name) => name.trim())
        .filter((name) => name !== '')
    const models = names('models')
    const tools = names('tools')
    const body = {
      name: text('name'),
      scopes: form.getAll('scopes'),
      requests_per_minute: count('requests'),
      tokens_per_minute: count('tokens'),
      tool_calls_per_minute: count('toolCalls'),
      tokens_per_day: count('daily'),
      tokens_per_month: count('monthly'),
      ...(models.length > 0 && { models }),
      ...(tools.length > 0 && { tools }),
      ...(text('ends') !== '' && { expires_at: text('ends') }),
    }
    try {
      const { key } = await call<{ readonly key: string }>('api/keys', { body })
      onMade({ name: body.name, key })
    } catch (error) {
      setProblem(error)
    }
  }
  return (
    <Dialog title={texts.make} onClose={onClose}>
      <form class="stack" onSubmit={(event) => void enter(event)}>
        <label class="labelled">
          <span>{texts.name}</span>
          <input class="field" name="name" required pattern="[\w.\-]{1,64}" title={texts.nameHint} autocomplete="off" autofocus />
          <span class="muted small">{texts.nameHint}</span>
        </label>
        <fieldset class="plain">
          <legend class="small muted">{texts.scopes}</legend>
          {scopes.map((scope) => (
            <label key={scope} class="check">
              <input type="checkbox" name="scopes" value={scope} defaultChecked={scope === 'inference'} />
              {texts.scope[scope]}
            </label>
          ))}
        </fieldset>
        <label class="labelled">
          <span>{texts.modelsField}</span>
          <input class="field" name="models" autocomplete="off" placeholder={texts.modelsHint} />
        </label>
        <label class="labelled">
          <span>{texts.toolsField}</span>
          <input class="field" name="tools" autocomplete="off" placeholder={texts.modelsHint} />
        </label>
        <div class="row wraps">
          <label class="labelled grows">
            <span>{texts.requestsField}</span>
            <input class="field" name="requests" type="number" min={1} title={texts.limitHint} />
          </label>
          <label class="labelled grows">
            <span>{texts.tokensField}</span>
            <input class="field" name="tokens" type="number" min={1} title={texts.limitHint} />
          </label>
          <label class="labelled grows">
            <span>{texts.toolCallsField}</span>
            <input class="field" name="toolCalls" type="number" min={1} title={texts.limitHint} />
          </label>
          <label class="labelled grows">
            <span>{texts.dailyField}</span>
            <input class="field" name="daily" type="number" min={1} title={texts.limitHint} />
          </label>
          <label class="labelled grows">
            <span>{texts.monthlyField}</span>
            <input class="field" name="monthly" type="number" min={1} title={texts.limitHint} />
          </label>
          <label class="labelled grows">
            <span>{texts.endsField}</span>
            <input class="field" name="ends" type="date" />
          </label>
        </div>
        {problem !== undefined && <Failure error={problem} />}
        <div class="dialog-end">
          <button type="submit" class="button primary">
            {texts.make}
          </button>
        </div>
      </form>
    </Dialog>
  )
}
