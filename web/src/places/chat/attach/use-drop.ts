import { useEffect, useState } from 'preact/hooks'

/** Takes files that are dropped anywhere in the window. Returns whether some are over it. */
export function useDrop(take: (files: readonly File[]) => void): boolean {
  const [isOver, setOver] = useState(false)
  useEffect(() => {
    const leaving = new AbortController()
    // Before what refuses files everywhere.
    const first = { capture: true, signal: leaving.signal }
    const over = (event: DragEvent) => {
      if (event.dataTransfer?.types.includes('Files') !== true) return
      event.preventDefault()
      setOver(true)
    }
    const leave = (event: DragEvent) => {
      if (event.relatedTarget === null) setOver(false)
    }
    const drop = (event: DragEvent) => {
      setOver(false)
      const files = [...(event.dataTransfer?.files ?? [])]
      if (files.length === 0) return
      event.preventDefault()
      take(files)
    }
    addEventListener('dragover', over, first)
    addEventListener('dragleave', leave, first)
    addEventListener('drop', drop, first)
    return () => leaving.abort()
  }, [take])
  return isOver
}
