import { signal } from '@preact/signals'
import { describe, send } from '../../api/client.ts'
import { placeTexts } from '../../texts/places.ts'
import { Dialog } from '../../ui/dialog.tsx'

const texts = placeTexts.models

type Pull = {
  readonly name: string
  readonly status: string
  readonly part: number
  readonly error?: string
  /** Cancels it, or dismisses its failure. */
  readonly stop: () => void
}

/** Models that are being fetched, also while the reader is at other places. */
export const pulls = signal<readonly Pull[]>([])

type Line = { readonly status?: string; readonly completed?: number; readonly total?: number; readonly error?: string }

function change(name: string, pull: Partial<Pull>): void {
  pulls.value = pulls.value.map((each) => (each.name === name ? { ...each, ...pull } : each))
}

function remove(name: string): void {
  pulls.value = pulls.value.filter((each) => each.name !== name)
}

/** Fetches a model by its name and loads it. */
async function pull(name: string): Promise<void> {
  const leaving = new AbortController()
  const stop = () => {
    leaving.abort()
    remove(name)
  }
  pulls.value = [...pulls.value.filter((each) => each.name !== name), { name, status: '', part: 0, stop }]
  try {
    const { body } = await send('api/pull', { body: { model: name, stream: true }, signal: leaving.signal })
    for await (const { status = '', completed = 0, total = 0, error } of linesOf(body)) {
      if (error !== undefined) throw new Error(error)
      change(name, { status, part: total === 0 ? 0 : completed / total })
    }
    remove(name)
  } catch (error) {
    if (!leaving.signal.aborted) change(name, { error: describe(error) })
  }
}

async function* linesOf(body: ReadableStream<Uint8Array> | null): AsyncGenerator<Line> {
  const reader = body?.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  for (;;) {
    const { done = true, value } = (await reader?.read()) ?? {}
    if (done) return
    const lines = (rest + decoder.decode(value, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line !== '') yield JSON.parse(line) as Line
  }
}

export function AddModel({ onClose }: { readonly onClose: () => void }) {
  const enter = (event: SubmitEvent) => {
    event.preventDefault()
    const name = String(new FormData(event.currentTarget as HTMLFormElement).get('name')).trim()
    if (name !== '') void pull(name)
    onClose()
  }
  return (
    <Dialog title={texts.add} onClose={onClose}>
      <form class="stack" onSubmit={enter}>
        <label class="labelled">
          <span>{texts.name}</span>
          <input class="field mono" name="name" required autocomplete="off" autofocus aria-describedby="name-hint" />
        </label>
        <p id="name-hint" class="muted small">
          {texts.nameHint}
        </p>
        <div class="dialog-end">
          <button type="submit" class="button primary">
            {texts.pull}
          </button>
        </div>
      </form>
    </Dialog>
  )
}
