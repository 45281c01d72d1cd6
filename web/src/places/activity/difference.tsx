import { useEffect, useState } from 'preact/hooks'
import { call } from '../../api/client.ts'
import type { WatchedRequest } from '../../live/wire.ts'
import { placeTexts } from '../../texts/places.ts'
import { Failure } from '../../ui/states.tsx'
import { differenceText } from './request-texts.ts'

const texts = placeTexts.activity
type Texts = { readonly lead: string; readonly before: string; readonly now: string; readonly trail: string }
type Difference = NonNullable<WatchedRequest['diverged']>

/** Where the prompt differs from the turn before, with both texts side by side for their caller. */
export function PromptDifference({ id, diverged }: { readonly id: string; readonly diverged: Difference }) {
  const [found, setFound] = useState<Texts>()
  const [problem, setProblem] = useState<unknown>()
  useEffect(() => {
    let isWanted = true
    call<{ readonly diverged_texts?: Texts }>(`api/requests/${encodeURIComponent(id)}`).then(
      (request) => isWanted && setFound(request.diverged_texts),
      (error: unknown) => isWanted && setProblem(error),
    )
    return () => {
      isWanted = false
    }
  }, [id])
  return (
    <section class="stack" aria-label={texts.difference}>
      <p class="note-text">{differenceText(diverged)}</p>
      {problem !== undefined && <Failure error={problem} />}
      {found !== undefined && (
        <div class="two-texts">
          <Side name={texts.before} changed={found.before} {...found} />
          <Side name={texts.now} changed={found.now} {...found} />
        </div>
      )}
    </section>
  )
}

type SideProps = { readonly name: string; readonly changed: string; readonly lead: string; readonly trail: string }

function Side({ name, changed, lead, trail }: SideProps) {
  return (
    <figure>
      <figcaption class="small muted">{name}</figcaption>
      <pre class="quoted">
        {lead}
        {changed !== '' && <mark>{changed}</mark>}
        {trail}
      </pre>
    </figure>
  )
}
