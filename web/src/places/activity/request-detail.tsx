import { isRunning } from '../../live/request-list.ts'
import { server } from '../../live/watch.ts'
import type { Attempt, WatchedRequest } from '../../live/wire.ts'
import { placeTexts } from '../../texts/places.ts'
import { Button } from '../../ui/button.tsx'
import { Fact, IdFact } from '../../ui/facts.tsx'
import { formatCount, formatMs } from '../../ui/numbers.ts'
import { PromptDifference } from './difference.tsx'
import { Replay } from './replay.tsx'
import { protocolOf, type Segment, waterfallOf } from './request-texts.ts'

const texts = placeTexts.activity

type DetailProps = { readonly request: WatchedRequest; readonly onStop: (request: WatchedRequest) => unknown }

/** The detail of a row: where the time went, and why the request ended as it did. */
export function RequestDetail({ request, onStop }: DetailProps) {
  const { facts } = texts
  const { cancelled, error, diverged, attempts, reasoning_tokens: reasoning } = request
  return (
    <>
      <Waterfall request={request} />
      {diverged !== undefined && <PromptDifference id={request.id} diverged={diverged} />}
      <dl class="fact-list">
        {error !== undefined && (
          <Fact name={facts.error}>
            <span class="bad">{error.code}</span> {error.message}
          </Fact>
        )}
        {cancelled !== undefined && (
          <Fact name={facts.stopped}>
            {cancelled.limit ?? texts.reasons[cancelled.reason] ?? cancelled.reason}
            {cancelled.by !== undefined && ` ${texts.state.cancelledBy(cancelled.by)}`}
          </Fact>
        )}
        <IdFact name={texts.columns.model} id={request.model} />
        <IdFact name={facts.id} id={request.id} />
        <IdFact name={facts.request} id={request.request_id} />
        <IdFact name={facts.session} id={request.session_id} />
        <IdFact name={facts.batch} id={request.batch_id} />
        {request.requested_model !== undefined && request.requested_model !== request.model && (
          <Fact name={facts.asked}>{request.requested_model}</Fact>
        )}
        <Fact name={facts.route}>
          {protocolOf(request.route)} <code class="muted">{request.route}</code>
        </Fact>
        {request.served_by !== undefined && <Fact name={facts.server}>{request.served_by}</Fact>}
        {reasoning !== undefined && <Fact name={facts.reasoning}>{formatCount(reasoning)}</Fact>}
        {request.finish_reasons !== undefined && (
          <Fact name={facts.finish}>{[...new Set(request.finish_reasons)].join(', ')}</Fact>
        )}
        {attempts !== undefined && (
          <Fact name={facts.attempts}>
            <ol class="attempts">
              {attempts.map((attempt, index) => (
                <li key={`${index} ${attempt.server}`}>{attemptText(attempt)}</li>
              ))}
            </ol>
          </Fact>
        )}
      </dl>
      {isRunning(request) ? (
        <div>
          <Button kind="danger" onClick={() => onStop(request)}>
            {texts.stop}
          </Button>
        </div>
      ) : server.value?.keeps_bodies === true ? (
        <Replay request={request} />
      ) : (
        <p class="muted small">{texts.notKept}</p>
      )}
    </>
  )
}

function attemptText({ server: host, outcome, error, first_chunk_ms: first, cache_hit: isHit }: Attempt): string {
  const parts = [
    `${host}: ${outcome}`,
    error,
    first === undefined ? undefined : texts.firstToken(formatMs(first)),
    isHit === true ? texts.cacheHit : undefined,
  ]
  return parts.filter((part) => part !== undefined).join(', ')
}

function Waterfall({ request }: { readonly request: WatchedRequest }) {
  const segments = waterfallOf(request)
  if (segments.length === 0) return <p class="muted">{texts.soFar}</p>
  const total = segments.reduce((sum, { ms }) => sum + ms, 0)
  const first = request.timings?.first_token_ms
  return (
    <figure class="waterfall">
      <figcaption class="small muted">
        {texts.waterfall}
        {first !== undefined && `: ${texts.firstToken(formatMs(first))}`}
      </figcaption>
      <div class="bar" aria-hidden="true">
        {segments.map(({ phase, ms }) => (
          <span key={phase} class={`phase ${phase}`} style={{ flexGrow: String(ms / total) }} />
        ))}
      </div>
      <ul class="legend">
        {segments.map((segment) => (
          <li key={segment.phase}>
            <span class={`phase ${segment.phase}`} aria-hidden="true" />
            <span>{texts.phases[segment.phase]}</span> <Time {...segment} />
          </li>
        ))}
      </ul>
    </figure>
  )
}

function Time({ ms }: Segment) {
  return (
    <span class="number" title={`${ms} ms`}>
      {formatMs(ms)}
    </span>
  )
}
