"""Long tests of atomic writes: killed writers, concurrent writers, and the time that publishing takes."""
