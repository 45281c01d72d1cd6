import { useState } from 'preact/hooks'
import { call } from '../../api/client.ts'
import { placeTexts } from '../../texts/places.ts'
import { Button } from '../../ui/button.tsx'
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
        {(['models', 'tools'] as const).map((name) => (
          <label key={name} class="labelled">
            <span>{texts[`${name}Field`]}</span>
            <input class="field" name={name} autocomplete="off" placeholder={texts.modelsHint} />
          </label>
        ))}
        <div class="row wraps">
          {(['requests', 'tokens', 'toolCalls', 'daily', 'monthly'] as const).map((name) => (
            <label key={name} class="labelled grows">
              <span>{texts[`${name}Field`]}</span>
              <input class="field" name={name} type="number" min={1} title={texts.limitHint} />
            </label>
          ))}
          <label class="labelled grows">
            <span>{texts.endsField}</span>
            <input class="field" name="ends" type="date" />
          </label>
        </div>
        {problem !== undefined && <Failure error={problem} />}
        <div class="dialog-end">
          <Button kind="primary">{texts.make}</Button>
        </div>
      </form>
    </Dialog>
  )
}
