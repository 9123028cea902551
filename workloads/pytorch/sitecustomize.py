"""Python imports the first sitecustomize on its path when it starts. This one waits for torch and then hands over to
the one that would have been imported without it."""
import importlib.machinery
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


class TorchFinder:
    """Has the adapter installed once torch has been executed. It stays until then: programs look for torch
    (importlib.util.find_spec) long before they import it."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find and finder is not self else None
            if spec is not None:
                self.follow(spec)
                return spec
        return None

    def follow(self, spec):
        loader = spec.loader
        try:
            execute = loader.exec_module

            def exec_module(module):
                del loader.exec_module  # what the program sees of it is as it was
                execute(module)
                if self in sys.meta_path:
                    sys.meta_path.remove(self)
                    import profgate_pytorch
                    profgate_pytorch.install(module)

            loader.exec_module = exec_module
        except Exception as fault:  # a loader of another kind: the program runs as without us, unseen
            print(f"profgate: torch is not followed: {fault!r}", file=sys.stderr)


def run_next_sitecustomize():
    """The user's or the system's own. Its faults are Python's to report, as ever."""
    others = [path for path in sys.path if os.path.abspath(path) != HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is None or spec.loader is None:
        return
    from importlib.util import module_from_spec
    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


if "PROFGATE_PYTORCH_LIBRARY" in os.environ:
    sys.meta_path.insert(0, TorchFinder())
run_next_sitecustomize()
