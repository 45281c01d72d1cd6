import { useEffect, useRef } from 'preact/hooks'
import { openAbove } from '../frame/router.ts'

/** While `isOpen`, the browser's Back calls `close`, and leaves the page as it is. */
export function useBack(isOpen: boolean, close: () => void): void {
  const latest = useRef(close)
  latest.current = close
  useEffect(() => (isOpen ? openAbove(() => latest.current()) : undefined), [isOpen])
}
