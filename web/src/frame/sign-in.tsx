import { useState } from 'preact/hooks'
import { describe } from '../api/client.ts'
import { asksForKey, useKey } from '../api/session.ts'
import { frameTexts } from '../texts/frame.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { findCaller } from './caller.ts'

const texts = frameTexts.signIn

/** Asks for a key while the server wants one. */
export function SignIn() {
  const [problem, setProblem] = useState('')
  const [isBusy, setBusy] = useState(false)
  if (asksForKey.value === undefined) return null
  const enter = async (event: SubmitEvent) => {
    event.preventDefault()
    const key = String(new FormData(event.currentTarget as HTMLFormElement).get('key')).trim()
    setBusy(true)
    useKey(key)
    try {
      await findCaller()
      asksForKey.value = undefined
      setProblem('')
    } catch (error) {
      useKey(undefined)
      setProblem(describe(error))
    }
    setBusy(false)
  }
  return (
    <Dialog title={texts.title}>
      <form class="stack" onSubmit={(event) => void enter(event)}>
        <p>{texts.why}</p>
        <label class="labelled">
          <span>{texts.key}</span>
          <input
            class="field mono"
            name="key"
            type="password"
            autocomplete="off"
            required
            autofocus
            aria-invalid={problem !== ''}
          />
        </label>
        {problem !== '' && (
          <p class="bad" role="alert">
            {problem}
          </p>
        )}
        <div class="dialog-end">
          <Button kind="primary" disabled={isBusy}>
            {texts.enter}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
