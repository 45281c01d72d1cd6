import { useEffect, useState } from 'preact/hooks'
import { call } from '../../api/client.ts'
import { linkTo } from '../../frame/router.ts'
import { server } from '../../live/watch.ts'
import type { WatchedRequest } from '../../live/wire.ts'
import { placeTexts } from '../../texts/places.ts'
import { Button } from '../../ui/button.tsx'
import { Command, CopyButton } from '../../ui/copy.tsx'
import { Failure } from '../../ui/states.tsx'
import { replyText } from './reply-text.ts'

const texts = placeTexts.activity
type Sent = { readonly path: string; readonly body: Readonly<Record<string, unknown>> | null }
type Outcome = { readonly text: string; readonly id: string | undefined }

/** Sends a stored request again, to this or another model. */
export function Replay({ request }: { readonly request: WatchedRequest }) {
  const [sent, setSent] = useState<Sent>()
  const [model, setModel] = useState('')
  const [outcome, setOutcome] = useState<Outcome>()
  const [problem, setProblem] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  useEffect(() => {
    let isWanted = true
    call<{ readonly sent?: Sent }>(`api/requests/${encodeURIComponent(request.id)}`).then(
      (found) => isWanted && setSent(found.sent),
      (error: unknown) => isWanted && setProblem(error),
    )
    return () => {
      isWanted = false
    }
  }, [request.id])
  const replay = async (event: Event) => {
    event.preventDefault()
    if (sent?.body === null || sent === undefined) return
    setBusy(true)
    setProblem(undefined)
    try {
      const body = { ...sent.body, stream: false, model: model === '' ? sent.body.model : model }
      const reply = await call<Readonly<Record<string, unknown>>>(sent.path, { body })
      setOutcome({ text: replyText(reply), id: typeof reply.id === 'string' ? reply.id : undefined })
    } catch (error) {
      setProblem(error)
    }
    setBusy(false)
  }
  if (problem !== undefined && sent === undefined) return <Failure error={problem} />
  if (sent === undefined || sent.body === null) return null
  const json = JSON.stringify(sent.body, null, 2)
  return (
    <div class="stack">
      <form class="row wraps" onSubmit={(event) => void replay(event)}>
        <label class="row">
          <span class="nowrap">{texts.replayOn}</span>
          <select class="field" value={model} onChange={(event) => setModel(event.currentTarget.value)}>
            <option value="">{request.model ?? request.requested_model}</option>
            {server.value?.models
              .filter(({ id }) => id !== request.model)
              .map(({ id }) => (
                <option key={id}>{id}</option>
              ))}
          </select>
        </label>
        <Button disabled={isBusy}>{isBusy ? texts.replaying : texts.replay}</Button>
      </form>
      {problem !== undefined && <Failure error={problem} />}
      {outcome !== undefined && (
        <section class="stack" aria-label={texts.replayed}>
          <h3 class="small muted">{texts.replayed}</h3>
          <div class="row top">
            <pre class="quoted">{outcome.text}</pre>
            <CopyButton text={outcome.text} what={texts.reply} />
          </div>
          {outcome.id !== undefined && <a href={linkTo('activity', [outcome.id])}>{texts.openReplay}</a>}
        </section>
      )}
      <details>
        <summary>{texts.sent}</summary>
        <Command text={json} what={texts.sent} />
      </details>
    </div>
  )
}
