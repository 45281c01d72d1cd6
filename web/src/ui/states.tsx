import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { ApiFailure, describe } from '../api/client.ts'
import { frameTexts } from '../texts/frame.ts'
import { Button } from './button.tsx'

/** A failure in its place: what was tried, the server's message, and the button to try again. */
export function Failure({
  error,
  onRetry,
  action,
  onDone,
}: {
  readonly error: unknown
  readonly onRetry?: () => unknown
  readonly action?: string
  /** Dismisses it. */
  readonly onDone?: () => unknown
}) {
  return (
    <div class="failure" role="alert">
      <p>
        {describe(error)}
        {error instanceof ApiFailure && <span class="muted small"> ({error.tried})</span>}
      </p>
      {onRetry !== undefined && <Button onClick={onRetry}>{action ?? frameTexts.tryAgain}</Button>}
      {onDone !== undefined && <Button onClick={onDone}>{frameTexts.done}</Button>}
    </div>
  )
}

/** After 400 ms, shows what the place waits for: "Asking the server for its models". */
export function Waiting({ what }: { readonly what: string }) {
  const [isLong, setLong] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setLong(true), 400)
    return () => clearTimeout(timer)
  }, [])
  return (
    <p class="waiting" role="status">
      {isLong ? what : ''}
    </p>
  )
}

/** A place without data explains how to get some. */
export function Empty({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  )
}

/** The completed share, from 0 to 1, with its name for screen readers. */
export function Progress({ part, name }: { readonly part: number; readonly name: string }) {
  const percent = Math.round(100 * Math.min(1, Math.max(0, part)))
  return (
    <div class="progress" role="progressbar" aria-label={name} aria-valuenow={percent} aria-valuemin={0} aria-valuemax={100}>
      <span style={{ transform: `scaleX(${percent / 100})` }} />
    </div>
  )
}
